"""Tiny transformers of many architectures, with random weights, and a tokenizer made in memory."""

import warnings
from functools import cache

import pytest
import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

transformers = pytest.importorskip("transformers", minversion="5.0")

PIECES = ("the", "film", "is", "un", "##like", "##ly", "good", "bad", "##ish", "plot", "and", "not", ".", ",", "a")
SYMBOLS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = {piece: number for number, piece in enumerate((*SYMBOLS, *PIECES))}
TEXTS = ("the unlikely film is goodish .", "bad plot , unlikely and not good", "good film")
PAIRS = (("the film is good", "bad film"), ("unlikely plot", "the plot is not bad ."))

WIDE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
COMMON = {"vocab_size": len(VOCABULARY), "num_labels": 3, "pad_token_id": 0}
ENDS = {"bos_token_id": 2, "eos_token_id": 3}
GROUPED = {"num_key_value_heads": 1, "head_dim": 8}
DISENTANGLED = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2}
SEVERAL_ROWS = {"classifier_pooling": "mean", "cls_token_id": 2, "sep_token_id": 3, "mask_token_id": 4}
BART = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}
T5 = {"d_model": 16, "d_kv": 8, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "d_ff": 24}

CONFIGS: dict[str, tuple[str, dict[str, object]]] = {
    "bert": ("Bert", WIDE),
    "roberta": ("Roberta", WIDE),
    "xlm-roberta": ("XLMRoberta", WIDE),
    "electra": ("Electra", WIDE | {"embedding_size": 12}),
    "albert": ("Albert", WIDE | {"embedding_size": 12}),
    "distilbert": ("DistilBert", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}),
    "mobilebert": ("MobileBert", WIDE | {"embedding_size": 12, "true_hidden_size": 8, "intra_bottleneck_size": 8}),
    "modernbert": ("ModernBert", WIDE | ENDS | SEVERAL_ROWS),
    "eurobert": (
        "EuroBert",
        WIDE | ENDS | {"num_key_value_heads": 1, "classifier_pooling": "mean", "mask_token_id": 4},
    ),
    "gpt2": ("GPT2", GPT | ENDS),
    "llama": ("Llama", WIDE | ENDS | {"num_key_value_heads": 1}),
    "qwen3": ("Qwen3", WIDE | ENDS | GROUPED),
    "gemma2": ("Gemma2", WIDE | ENDS | GROUPED),
    "mistral": ("Mistral", WIDE | ENDS | {"num_key_value_heads": 1, "sliding_window": 3}),
    "gpt-neox": ("GPTNeoX", WIDE | ENDS),
    "opt": ("OPT", WIDE | ENDS | {"ffn_dim": 24, "word_embed_proj_dim": 16, "max_position_embeddings": 64}),
    "gpt-oss": ("GptOss", WIDE | ENDS | GROUPED | {"num_local_experts": 2, "num_experts_per_tok": 1}),
    "bart": ("Bart", BART | ENDS | {"decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}),
    "t5": ("T5", T5 | {"eos_token_id": 3, "decoder_start_token_id": 0}),
    "deberta": ("Deberta", WIDE | DISENTANGLED),
    "deberta-v2": ("DebertaV2", WIDE | DISENTANGLED | {"position_buckets": 8, "share_att_key": True}),
    "mpnet": ("MPNet", WIDE),
    "xlnet": ("XLNet", {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24}),
    "bloom": ("Bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 2} | ENDS),
    "roformer": ("RoFormer", WIDE | {"embedding_size": 16}),
    "falcon": ("Falcon", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2} | ENDS),
    "gptj": ("GPTJ", GPT | ENDS | {"rotary_dim": 4}),
    "bigbird": ("BigBird", WIDE | {"attention_type": "original_full"}),
    "funnel": ("Funnel", {"block_sizes": [2], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24}),
    "convbert": ("ConvBert", WIDE | {"num_attention_heads": 4, "embedding_size": 16, "conv_kernel_size": 3}),
    "xlm": ("XLM", {"emb_dim": 16, "n_layers": 2, "n_heads": 2, "pad_index": 0, "summary_type": "first"}),
}
"""Architectures by name: the class of their configuration, and what makes them tiny."""

BY_SOFTMAX = tuple(CONFIGS)[tuple(CONFIGS).index("deberta") :]
"""Those whose model files do not know the attention interface."""
SEVERAL = ("modernbert", "eurobert")
"""Those whose classifier reads the mean of all rows."""
WHOLE = ("funnel", "convbert", "xlm")
"""Those that read a single row, but whose last block cannot be run by itself."""
WITHOUT_SYMBOLS = ("gpt2", "llama", "qwen3", "gemma2", "mistral", "gpt-neox", "opt", "bloom", "falcon", "gptj")
"""Decoders, whose tokenizers here add no start or end symbol."""


@cache
def tiny_tokenizer(adds_symbols: bool = True):
    """A fast tokenizer of a few words, some of them of several pieces."""
    tokenizer = Tokenizer(WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if adds_symbols:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if adds_symbols else ["input_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **names)


def tokenizer_of(name: str):
    """The tokenizer that goes with an architecture."""
    if name in ("bart", "t5"):
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tiny_tokenizer().backend_tokenizer,
            model_input_names=["input_ids", "attention_mask"],
            pad_token="[PAD]",
            eos_token="[SEP]",
            bos_token="[CLS]",
        )
        return tokenizer
    return tiny_tokenizer(name not in WITHOUT_SYMBOLS)


def tiny_module(name: str, dtype: torch.dtype = torch.float64, **changes: object):
    """A classifier of that architecture whose weights are large enough for every word to matter."""
    kind, sizes = CONFIGS[name]
    config = getattr(transformers, f"{kind}Config")(**COMMON | sizes | changes)
    generator = torch.Generator().manual_seed(1)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        # Some model files use what torch deprecates.
        warnings.simplefilter("ignore")
        torch.manual_seed(1)
        module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return module.to(dtype)


@cache
def tiny_model(name: str, dtype: torch.dtype = torch.float64, site: str = "last", scope: str = "row"):
    """A view of the tiny classifier of that architecture."""
    from heedful.models.hugging_face.attention_view import TransformerModel
    from heedful.models.hugging_face.classifier import load_inspected

    if (site, scope) != ("last", "row"):
        return tiny_model(name, dtype).at(site, scope)
    return TransformerModel(load_inspected(name, tiny_module(name, dtype), tokenizer_of(name)))


def tiny_batch(model, texts=TEXTS):
    """The texts as one batch, shortest first."""
    from heedful.models.hugging_face.tokenized_texts import read_texts

    (batch,) = read_texts(model.classifier, texts, [0] * len(texts)).batches()
    return batch


@cache
def tiny_trace(name: str, dtype: torch.dtype = torch.float64, site: str = "last", scope: str = "row"):
    """What a view of the tiny classifier makes of the texts."""
    from heedful.models.trace import trace

    model = tiny_model(name, dtype, site, scope)
    with torch.no_grad():
        return trace(model, tiny_batch(model))


def save_tiny_encoder(folder, **changes: object) -> str:
    """A BERT without a classifier, as a folder to fine-tune from, whose vocabulary has the words of `runs.toy`."""
    words = ("was", "so", "why", "poor", "fine", "number")
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        torch.manual_seed(2)
        sizes = WIDE | COMMON | {"vocab_size": len(VOCABULARY) + len(words), "max_position_embeddings": 48} | changes
        module = transformers.BertModel(
            transformers.BertConfig(**{k: v for k, v in sizes.items() if k != "num_labels"})
        )
    module.save_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str()),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    tokenizer.add_tokens(list(words))
    tokenizer.save_pretrained(folder)
    return str(folder)
