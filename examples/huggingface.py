"""Fine-tune a sequence-to-sequence model on all references and on pseudo-references, with Hugging Face's Trainer.

    pip install "polyref[huggingface]"
    python examples/huggingface.py        # in a clone; a minute on one core
    python examples/huggingface.py 20     # this many updates

What is polyref's: `expander` for `map`, `Scheduled` in front of the Trainer, and `PairDataset` as its data. The model
is small and new, so that the script needs no download: replace `small_model` by two calls of `from_pretrained`.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

import polyref
from polyref.feed.huggingface import from_dataset, multi_reference_metrics, to_dataset
from polyref.feed.trainer import Scheduled

FOLDER = Path(__file__).parent


class Trainer(Scheduled, Seq2SeqTrainer):
    """A Trainer that follows the schedule of its data."""


def small_model(examples):
    texts = [text for one in examples for text in (one.source, *[gold.text for gold in one.references])]
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["<pad>", "</s>", "<unk>"]
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special, show_progress=False))
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    sizes = {"d_model": 64, "d_ff": 128, "d_kv": 16, "num_heads": 4, "num_layers": 2}
    return tokenizer, T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, **sizes))


def main(updates, folder):
    data = to_dataset(polyref.read(FOLDER / "weather.jsonl"))  # or datasets.load_dataset(..., split="train")
    expanded = data.map(polyref.expander(per_example=8, learn_from=data), batched=True)
    examples, held_out = list(from_dataset(expanded)), list(polyref.read(FOLDER / "weather-dev.jsonl"))
    set_seed(1)
    tokenizer, model = small_model(examples)

    def encode(pair):
        return tokenizer(pair.source, text_target=pair.reference, return_token_type_ids=False)

    trainer = Trainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            folder,
            max_steps=updates,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=40,
            learning_rate=3e-3,
            predict_with_generate=True,
            generation_max_length=30,
            logging_steps=200,
            save_strategy="no",
            report_to="none",
            use_cpu=True,  # leave this line and the next one out on a GPU
            dataloader_pin_memory=False,
        ),
        train_dataset=polyref.PairDataset(polyref.stream(examples, "shuffle", seed=1, limit=8), encode),
        eval_dataset=polyref.PairDataset(polyref.stream(held_out, "first"), encode),
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
        compute_metrics=multi_reference_metrics(held_out, tokenizer, ["bleu"]),
    )
    trainer.train()
    print(f"BLEU {trainer.evaluate()['eval_bleu']:.1f} on {len(held_out)} held-out examples")
    for one in held_out[:4]:
        numbers = model.generate(
            **tokenizer(one.source, return_tensors="pt", return_token_type_ids=False), max_length=30
        )
        print(f"{one.source:<55}{tokenizer.decode(numbers[0], skip_special_tokens=True)}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 600, folder)
