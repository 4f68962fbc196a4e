"""What is claimed of diverse states, and what we claim of the recipe that dev texts choose."""

from collections.abc import Callable, Mapping

from heedful.battery.question import Values
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.faithful_training.columns import (
    ATTACK,
    CONICITY,
    CORRECT_OF_ALL,
    DIVERSITY,
    ERASED,
    ORTHOGONAL,
    OTHER_SEEDS,
    PERMUTED,
    PUNCTUATION,
    SHARPNESS,
    TAU_DELETION,
    TAU_GRADIENT,
    VANILLA,
    chosen_recipes,
)
from heedful.papers.reproduction import Cell, Claim, Results

MOHANKUMAR = "Mohankumar et al. (2020), arXiv:2004.14243"
OURS = "our reading of what such training should do; in none of the papers"
AGAINST_VANILLA = "text by text"

CONICITY_FALLS = Claim(
    id="conicity_falls",
    statement="Hidden states point less in one direction where diversity is trained for.",
    quote="",
    source=f"our reading of {MOHANKUMAR}",
    measured=f"conicity, vanilla - diversity or orthogonal, {AGAINST_VANILLA}",
    unit="conicity",
    margin=0.1,
)
PERMUTATION_MATTERS = Claim(
    id="permutation_matters_more",
    statement="With diverse states, permuted attention changes the prediction more.",
    quote="",
    source=f"our reading of {MOHANKUMAR}",
    measured=f"median TVD under permutation, diversity or orthogonal - vanilla, {AGAINST_VANILLA}",
    unit="TVD",
    margin=0.05,
)
FEWER_ERASURES = Claim(
    id="fewer_erasures",
    statement="With diverse states, fewer words by attention need be erased until the decision changes.",
    quote="",
    source=f"our reading of {MOHANKUMAR}",
    measured=f"share of a text that is erased, vanilla - diversity or orthogonal, {AGAINST_VANILLA}",
    unit="share of a text",
    margin=0.05,
)
GRADIENTS_AGREE = Claim(
    id="better_agreement_with_gradients",
    statement="With diverse states, attention agrees better with gradients.",
    quote="",
    source=f"our reading of {MOHANKUMAR}",
    measured=f"tau-b with the input gradient, diversity or orthogonal - vanilla, {AGAINST_VANILLA}",
    unit="tau",
    margin=0.1,
)
LESS_PUNCTUATION = Claim(
    id="less_attention_on_punctuation",
    statement="With diverse states, less attention falls on punctuation.",
    quote="",
    source=f"our reading of {MOHANKUMAR}",
    measured=f"weight on punctuation, vanilla - diversity or orthogonal, {AGAINST_VANILLA}",
    unit="weight",
    margin=0.02,
)
NO_ACCURACY_LOST = Claim(
    id="the_recipe_costs_no_accuracy",
    statement="The recipe that dev texts choose loses no accuracy.",
    quote="",
    source=OURS,
    measured="accuracy, recipe - vanilla, on test texts",
    unit="accuracy",
    margin=0.01,
    kind="no_less",
)
MORE_RELEVANT = Claim(
    id="the_recipe_is_more_relevant",
    statement="By the recipe's attention a decision is changed sooner than by vanilla's.",
    quote="",
    source=OURS,
    measured="share of a text that is erased, vanilla - recipe",
    unit="share of a text",
    margin=0.05,
)
AGREES_MORE = Claim(
    id="the_recipe_agrees_with_deletions",
    statement="The recipe's attention agrees better with leave-one-out than vanilla's.",
    quote="",
    source=OURS,
    measured="tau-b with leave-one-out, recipe - vanilla",
    unit="tau",
    margin=0.1,
)
SEEDS_HALVED = Claim(
    id="the_recipe_halves_the_share_of_the_seed",
    statement="Seeds differ at most half as much under the recipe as under vanilla training.",
    quote="",
    source=OURS,
    measured="JSD between seeds, half of vanilla's - the recipe's",
    unit="nats",
    margin=0.01,
    kind="no_less",
)
ATTACK_RESISTED = Claim(
    id="the_recipe_resists_attack",
    statement="The worst noise on embeddings moves the recipe's attention at most two thirds as far as vanilla's.",
    quote="",
    source=OURS,
    measured="JSD under attack, two thirds of vanilla's - the recipe's",
    unit="nats",
    margin=0.01,
    kind="no_less",
)
STAYS_SHARP = Claim(
    id="the_recipe_stays_sharp",
    statement="The recipe's attention is at least half as sharp as vanilla's: it is not stable because it is even.",
    quote="",
    source=OURS,
    measured="largest weight relative to even weights, the recipe's - half of vanilla's",
    unit="times even",
    margin=0.1,
    kind="no_less",
)

Difference = Callable[[Cell, Cell], Values]
Recipes = Mapping[tuple[str, str], tuple[Cell, Cell]]


def claims(results: Results) -> list[Claim]:
    """Five of diverse states, six of the recipe."""
    recipes = chosen_recipes(results)
    return [
        test_claim(CONICITY_FALLS, _diverse(results, _fall(CONICITY), CONICITY)),
        test_claim(PERMUTATION_MATTERS, _diverse(results, _rise(PERMUTED), PERMUTED)),
        test_claim(FEWER_ERASURES, _diverse(results, _fall(ERASED), ERASED)),
        test_claim(GRADIENTS_AGREE, _diverse(results, _rise(TAU_GRADIENT), TAU_GRADIENT)),
        test_claim(LESS_PUNCTUATION, _diverse(results, _fall(PUNCTUATION), PUNCTUATION)),
        test_claim(NO_ACCURACY_LOST, _recipe(recipes, _rise(CORRECT_OF_ALL), CORRECT_OF_ALL)),
        test_claim(MORE_RELEVANT, _recipe(recipes, _fall(ERASED), ERASED)),
        test_claim(AGREES_MORE, _recipe(recipes, _rise(TAU_DELETION), TAU_DELETION)),
        test_claim(SEEDS_HALVED, _recipe(recipes, _fall(OTHER_SEEDS, 1 / 2), OTHER_SEEDS)),
        test_claim(ATTACK_RESISTED, _recipe(recipes, _fall(ATTACK, 2 / 3), ATTACK)),
        test_claim(STAYS_SHARP, _recipe(recipes, _rise(SHARPNESS, 1 / 2), SHARPNESS)),
    ]


def _rise(column: str, share: float = 1.0) -> Difference:
    """The column of the new way - that share of vanilla's."""
    return lambda new, vanilla: paired(new.columns[column], share * vanilla.columns[column])


def _fall(column: str, share: float = 1.0) -> Difference:
    """That share of vanilla's column - the new way's."""
    return lambda new, vanilla: paired(share * vanilla.columns[column], new.columns[column])


def _diverse(results: Results, difference: Difference, column: str) -> dict[str, Part]:
    """Each model whose states are made diverse against vanilla, encoder by encoder."""
    parts = {}
    for method in (DIVERSITY, ORTHOGONAL):
        for cell in results.select(column, method=method):
            vanilla = results.find(column, data=cell.data, encoder=cell.encoder, method=VANILLA)
            if vanilla is not None:
                parts[f"{cell.data}, {cell.encoder}, {method}"] = part_of(difference(cell, vanilla), cell, vanilla)
    return parts


def _recipe(recipes: Recipes, difference: Difference, column: str) -> dict[str, Part]:
    """The recipe that dev texts choose against vanilla, for each set and encoder."""
    return {
        f"{data}, {encoder}": part_of(difference(*cells), *cells)
        for (data, encoder), cells in recipes.items()
        if all(column in cell.columns for cell in cells)
    }
