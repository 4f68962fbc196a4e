"""Public data sets that can be fetched by name: one file a source, each with its recipes."""

from heedful.data.fetching import (
    ag_news,
    babi,
    dbpedia,
    hatexplain,
    imdb,
    movies,
    newsgroups,
    sentence_polarity,
    snli,
    sst,
    tweeteval,
)
from heedful.data.fetching.recipe import Recipe

RECIPES: dict[str, Recipe] = {
    **sst.RECIPES,
    **sentence_polarity.RECIPES,
    **imdb.RECIPES,
    **tweeteval.RECIPES,
    **ag_news.RECIPES,
    **newsgroups.RECIPES,
    **dbpedia.RECIPES,
    **babi.RECIPES,
    **snli.RECIPES,
    **hatexplain.RECIPES,
    **movies.RECIPES,
}
