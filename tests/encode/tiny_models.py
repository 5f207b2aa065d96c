"""Hugging Face models small enough for a test: random weights, and vocabularies of letters."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    GPT2Config,
    GPT2Model,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
)

SIZE = 16
LETTERS = [*string.ascii_lowercase, *string.digits, *",.;:'’-–%€()"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, "the", "cat", "dog", "sat", "mat", "##ting", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
_SHAPE = {"hidden_size": SIZE, "num_attention_heads": 2, "intermediate_size": 32}
_T5_SHAPE = {"d_model": SIZE, "d_ff": 32, "d_kv": 8, "num_heads": 2}


def bert(folder: Path, *, layers: int = 4, positions: int = 512, **more: Any) -> Path:
    config = BertConfig(
        vocab_size=len(PIECES), num_hidden_layers=layers, max_position_embeddings=positions, **_SHAPE, **more
    )
    tokenizer = BertTokenizerFast(vocab={piece: number for number, piece in enumerate(PIECES)})
    return _save(folder, BertModel, config, tokenizer)


def gpt2(folder: Path, *, layers: int = 4) -> Path:
    """Its tokenizer counts the space before a word to the word, and cuts characters into bytes."""
    tokenizer = _byte_level(trim_offsets=False, special="<|endoftext|>")
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=SIZE, n_layer=layers, n_head=2, n_positions=64)
    return _save(folder, GPT2Model, config, tokenizer)


def roberta(folder: Path, *, positions: int) -> Path:
    tokenizer = _byte_level(trim_offsets=True, special="</s>")
    config = RobertaConfig(
        vocab_size=len(tokenizer), num_hidden_layers=2, max_position_embeddings=positions, pad_token_id=1, **_SHAPE
    )
    return _save(folder, RobertaModel, config, tokenizer)


def t5(folder: Path) -> Path:
    """An encoder-decoder with a sentencepiece vocabulary and no bound on its positions."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁cat", -3.0), ("s", -4.0), ("国", -4.0)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=2, byte_fallback=False))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
    )
    config = T5Config(vocab_size=len(pieces), num_layers=3, num_decoder_layers=1, decoder_start_token_id=0, **_T5_SHAPE)
    return _save(folder, T5Model, config, tokenizer)


def change_json(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def _byte_level(*, trim_offsets: bool, special: str) -> PreTrainedTokenizerFast:
    pieces = [special, "<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ca", "cat", "Ġcat"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocabulary, [("c", "a"), ("ca", "t"), ("Ġ", "cat")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=trim_offsets)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=special, pad_token="<pad>")


def _save(folder: Path, kind: type[PreTrainedModel], config: Any, tokenizer: Any) -> Path:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = kind(config)
        # Random weights as BERT begins with are so small that every layer says nearly the same.
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn(weight.shape), alpha=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
