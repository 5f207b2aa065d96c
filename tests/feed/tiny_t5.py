"""A T5 small enough for a test, with a tokenizer that knows a word when it sees one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration

from polyref.feed import Pair

_SPECIAL = ["<pad>", "</s>", "<unk>"]


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Every word of the texts is a token."""
    words = dict.fromkeys(word for text in texts for word in text.split())
    vocabulary = {word: number for number, word in enumerate([*_SPECIAL, *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )


def tiny_t5(tokenizer: PreTrainedTokenizerFast) -> T5ForConditionalGeneration:
    config = T5Config(
        vocab_size=len(tokenizer), d_model=8, d_ff=8, d_kv=4, num_heads=2, num_layers=1, decoder_start_token_id=0
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return T5ForConditionalGeneration(config)


class Encode:
    """A pair as the tokens that a model is trained on."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast):
        self.tokenizer = tokenizer

    def __call__(self, pair: Pair) -> dict[str, Any]:
        found = self.tokenizer(pair.source, text_target=pair.reference)
        return {"input_ids": found["input_ids"], "attention_mask": found["attention_mask"], "labels": found["labels"]}


class Seen:
    """Writes down each batch that a model is trained on, as pairs of source and reference."""

    def __init__(self, model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast):
        self.batches: list[list[tuple[str, str]]] = []
        self._tokenizer = tokenizer
        model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, model: torch.nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if model.training:
            self.batches.append(list(zip(self._texts(named["input_ids"]), self._texts(named["labels"]), strict=True)))

    def _texts(self, tokens: torch.Tensor) -> list[str]:
        return self._tokenizer.batch_decode(tokens.clamp(min=0), skip_special_tokens=True)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [pair for batch in self.batches for pair in batch]


def arguments(folder: Path, **more: Any) -> Seq2SeqTrainingArguments:
    """Quiet, on one processor, without checkpoints unless they are asked for."""
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no"}
    here = {"output_dir": str(folder), "use_cpu": True, "dataloader_pin_memory": False}
    return Seq2SeqTrainingArguments(**{**here, **quiet, "per_device_train_batch_size": 4, **more})
