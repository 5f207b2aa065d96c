"""The paper's two models, and the search for what they say best (Section 4).

What needs no torch is here; the rest is imported from its own module, by whoever has torch:

    settings.py    TranslatorSettings, CaptionerSettings, BeamSettings; TRANSLATING, CAPTIONING: the defaults of beams
    batch.py       TranslationBatch.of(sources, targets=None), CaptionBatch.of(features, targets=None): rows of numbers
                   without begin and end; `targets` may be left out where there is only something to search
    translator.py  Translator(settings, source_words=..., target_words=...)
    captioner.py   Captioner(settings, words=...); .standardise(mean, deviation)
                   both: .loss(batch) -> (summed negative log-likelihood, target tokens), and the steps of a search
    beam.py        search(model, batch, settings) -> for each sentence its best Hypothesis(tokens, log_prob, score)s
    weights.py     save_weights(model, path), load_weights(model, path)

A model knows numbers of words, nothing of references, schedules or files.
"""

from polyref.model.settings import CAPTIONING, TRANSLATING, BeamSettings, CaptionerSettings, TranslatorSettings

__all__ = ["CAPTIONING", "TRANSLATING", "BeamSettings", "CaptionerSettings", "TranslatorSettings"]
