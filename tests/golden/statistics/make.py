"""Makes exact.json and slopes.json with SciPy: run it in this folder to make the golden values anew.

    python3 -m venv .venv && .venv/bin/pip install scipy==1.17.1 && .venv/bin/python make.py

p values are SciPy's. An interval is what its tests do not reject: each end is searched among the places where
the p value can change, so nothing of hotlap's own arithmetic is in it.
"""

import itertools
import json
import random

import numpy
import scipy
from scipy import stats


def signed_rank_p(values):
    values = numpy.array([v for v in values if v != 0])
    ranks = stats.rankdata(abs(values))
    if len(set(ranks)) == len(ranks):
        return stats.wilcoxon(values, method="exact").pvalue
    # Equal ranks: every choice of signs, counted.
    observed = ranks[values > 0].sum()
    sums = numpy.array([ranks[list(signs)].sum() for signs in map(
        lambda bits: [b == 1 for b in bits], itertools.product((0, 1), repeat=len(ranks)))])
    return min(1.0, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))


def mann_whitney_p(a, b):
    both = list(a) + list(b)
    if len(set(both)) == len(both):
        return stats.mannwhitneyu(a, b, method="exact").pvalue
    ranks = stats.rankdata(both)
    observed = ranks[: len(a)].sum()
    sums = numpy.array([sum(choice) for choice in itertools.combinations(ranks, len(a))])
    return min(1.0, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))


def kept(places, p_at):
    """The lowest and the highest place beside which a shift is not rejected at 5 %."""
    places = sorted(places)
    between = [(a + b) / 2 for a, b in zip(places, places[1:])]
    good = [i for i, shift in enumerate(between) if p_at(shift) > 0.05]
    return places[good[0]], places[good[-1] + 1]


def hodges_lehmann_paired(d):
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(d, 2)]
    low, high = kept(walsh, lambda shift: signed_rank_p(numpy.array(d) - shift))
    return {"estimate": float(numpy.median(walsh)), "low": low, "high": high}


def hodges_lehmann_unpaired(a, b):
    differences = [x - y for x in a for y in b]
    low, high = kept(differences, lambda shift: mann_whitney_p(numpy.array(a) - shift, b))
    return {"estimate": float(numpy.median(differences)), "low": low, "high": high}


def around_median(values):
    low, high = kept(values, lambda middle: stats.binomtest(sum(v > middle for v in values), len(values)).pvalue)
    return {"estimate": float(numpy.median(values)), "low": low, "high": high}


def holm(p):
    order = numpy.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    highest = 0.0
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, p[at] * (len(p) - place)))
        adjusted[at] = highest
    return adjusted


def slopes():
    source = random.Random(21)
    series = []
    for n in (5, 8, 15, 16, 40, 75):
        x = sorted(source.sample(range(10 * n), n))
        series.append((x, [round(50 + 0.3 * a + source.gauss(0, 4), 3) for a in x]))
    series.append(([1, 2, 2, 3, 4, 5, 5, 6], [1, 1, 2, 2, 3, 3, 3, 9]))  # Equal values on both sides.
    series.append((list(range(12)), [7] * 12))
    series.append((list(range(20)), [a + (300 if a == 4 else 0) for a in range(20)]))  # One far off.
    found = []
    for x, y in series:
        slope, _, low, high = stats.theilslopes(y, x, alpha=0.95)
        found.append({"x": x, "y": y, "slope": float(slope), "low": float(low), "high": float(high)})
    return found


def write(name, value):
    with open(name, "w") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def main():
    source = random.Random(20)
    noise = lambda n, centre=0.0: [round(source.gauss(centre, 0.03), 6) for _ in range(n)]
    paired = [{"values": d, "p": signed_rank_p(d), "interval": hodges_lehmann_paired(d)}
              for d in [noise(n, c) for n in (6, 7, 8, 9, 10, 12, 15, 20) for c in (0.0, 0.03)]]
    tied = [{"values": d, "p": signed_rank_p(d)} for d in (
        [1, 1, 2, 2, -1, 3, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [-2, -1, -1, 1, 3, 3, 3, 4])]
    unpaired = []
    for n, m in ((4, 4), (5, 5), (5, 7), (6, 6), (7, 4), (8, 8), (10, 10)):
        for c in (0.0, 0.06):
            a, b = noise(n, c), noise(m)
            unpaired.append({"of": a, "to": b, "p": mann_whitney_p(a, b), "interval": hodges_lehmann_unpaired(a, b)})
    equal = [{"of": a, "to": b, "p": mann_whitney_p(a, b)} for a, b in (
        ([1, 2, 2, 3], [2, 3, 4, 4]), ([5, 5, 5, 5], [5, 5, 5, 5]), ([1, 1, 2, 2, 3], [2, 2, 3, 3, 4, 4]))]
    medians = [{"values": v, "interval": around_median(v)} for v in map(noise, (6, 7, 8, 9, 10, 11, 15, 20, 30))]
    families = [[0.01, 0.04, 0.03, 0.005], [0.5, 0.0156, 0.0156], [0.2], [0.03, 0.9, 0.02, 0.02, 0.001]]
    write("exact.json", {
        "made_by": f"scipy {scipy.__version__}",
        "paired": paired, "paired_ties": tied, "unpaired": unpaired, "unpaired_ties": equal, "median": medians,
        "holm": [{"p": p, "adjusted": holm(p)} for p in families],
    })
    write("slopes.json", {"made_by": f"scipy {scipy.__version__}", "slopes": slopes()})


main()
