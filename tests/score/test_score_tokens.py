"""The tokens that captions are scored on. What is expected here came out of Stanford's tokenizer and pycocoevalcap."""

import pytest

from polyref.score.tokens import penn_treebank

CASES = {
    "A cat, asleep on the mat.": "a cat asleep on the mat",
    "It's a child-friendly shop, isn't it?": "it 's a child-friendly shop is n't it",
    "CAN'T won't they'll he'd I'm we've you're": "ca n't wo n't they 'll he 'd i 'm we 've you 're",
    "I cannot go, I'm gonna stay.": "i can not go i 'm gon na stay",
    "the dogs' bowl and the dog's bowl": "the dogs bowl and the dog 's bowl",
    "O'Brien at five o'clock with hors-d'oeuvre": "o'brien at five o'clock with hors-d'oeuvre",
    "Xi'an is not Chang'an": "xi'an is not chang an",
    "slip 'n' slide in the '90s": "slip 'n' slide in the '90s",
    "It costs £20-25 or €30, not $1,000.50": "it costs # 20-25 or $ 30 not $ 1,000.50",
    "a (small) dog [sic] {x}": "a -lrb- small -rrb- dog -lsb- sic -rsb- -lcb- x -rcb-",
    "“fine” it’s – or — so…": "fine it 's or so",
    "\"quoted\" `single' 'other'": "quoted single other",
    "Mr. Smith of Main St. in the U.S. at 5 p.m. today": "mr. smith of main st. in the u.s. at 5 p.m. today",
    "the corner of Madison Ave.": "the corner of madison ave.",
    "a sign that reads K.": "a sign that reads k",
    "John F. Kennedy": "john f. kennedy",
    "No. 5 is no. The end.": "no. 5 is no the end",
    "a mass. A Mass. hall": "a mass a mass. hall",
    "the city center., has": "the city center. has",
    "a river.A group at statefarm.com": "a river.a group at statefarm.com",
    "mirror/cabinet and/or 24/7, 3.5/5": "mirror/cabinet and/or 24/7 3.5 / 5",
    "1.5-inch, 20-year-old, 10:30, 10:30am, .5, -5, 20--25": "1.5-inch 20-year-old 10:30 10:30 am .5 -5 20 25",
    "open 10:30-22:00 daily": "open 10:30 -22:00 daily",
    "what?? wow!!! ok?": "what ?? wow !!! ok",
    "Texas A&amp;M &lt; Red & White": "texas a&m < red & white",
    "50% of #tag @user a*b": "50 % of #tag @user a * b",
    "see www.x.com or http://x.y/z?a=b, a@b.com": "see www.x.com or http://x.y/z?a=b a@b.com",
    "café 漢字 1½ 5¢": "café 漢字 1 1/2 5 cents",
    "a smile 😀 there": "a smile there",
    "x -- y - z ... w": "x y z w",
    "": "",
    " . ": "",
}


@pytest.mark.parametrize(("text", "expected"), CASES.items(), ids=lambda value: None)
def test_tokens_of(text, expected):
    assert penn_treebank(text) == expected


@pytest.mark.parametrize(
    "text",
    ["A cat, asleep.", "a man on main st.", "I cannot go .", "A", "a cat , a dog", "An ace of clubs.", "see Mass."],
)
def test_plain_texts_are_cut_as_all_others_are(text):
    # The one behind it is no plain text, and is a token by itself.
    assert penn_treebank(text) == penn_treebank(f"{text} %").removesuffix(" %")
