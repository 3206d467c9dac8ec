"""Makes golden.json with Apache Otava: run it in this folder to make the golden values anew.

    python3 -m venv .venv && .venv/bin/pip install numpy==2.4.6 scipy==1.17.1
    .venv/bin/pip install --no-deps apache-otava==0.8.0 && .venv/bin/python make_golden.py

Each series has Otava's changes for a window of 50 and p < 0.001, without and with a least size of 3 %. Otava's `merge` judges, after
it has taken a change away, the right neighbour and the one behind that, and not the left neighbour. `as_published` is what it
gives; `mended` is the same with both neighbours judged, by the same code of Otava for everything else.
"""

import json
import math
import random

import scipy
from otava import analysis


def mended_merge(change_points, series, max_pvalue, min_magnitude):
    tester = analysis.TTestSignificanceTester(max_pvalue)
    while change_points:
        weakest = max(change_points, key=lambda c: c.stats.pvalue)
        if weakest.stats.pvalue < max_pvalue:
            weakest = min(change_points, key=lambda c: c.stats.change_magnitude())
            if weakest.stats.change_magnitude() > min_magnitude:
                break
        change_points.remove(weakest)
        intervals = tester.get_intervals(change_points)
        change_points = [tester.change_point(c.to_candidate(), series, intervals) for c in change_points]
    return change_points


PUBLISHED_MERGE = analysis.merge


def changes(series, least, merge):
    analysis.merge = merge
    found, _ = analysis.compute_change_points(list(series), window_len=50, max_pvalue=0.001, min_magnitude=least)
    return [
        {
            "at": int(c.index),
            "before": float(c.stats.mean_1),
            "after": float(c.stats.mean_2),
            "p": float(c.stats.pvalue),
        }
        for c in found
    ]


def normal(r, n, mean, spread):
    return [mean * (1 + spread * r.gauss(0, 1)) for _ in range(n)]


def series(r):
    """Quiet, with steps up and down, with bad nights, correlated, with a drift, with two modes, short and long."""
    for spread in (0.005, 0.02, 0.05):
        yield f"quiet, spread {spread}", normal(r, 100, 1000, spread)
        for step in (0.02, 0.05, -0.08, 0.3):
            yield f"a step of {step}, spread {spread}", normal(r, 40, 1000, spread) + normal(r, 35, 1000 * (1 + step), spread)
        yield f"three steps, spread {spread}", (
            normal(r, 30, 5e7, spread) + normal(r, 12, 5.6e7, spread) + normal(r, 50, 4.7e7, spread) + normal(r, 25, 5.3e7, spread)
        )
        yield f"up and back, spread {spread}", normal(r, 30, 80, spread) + normal(r, 8, 90, spread) + normal(r, 30, 80, spread)
        yield f"a step at the end, spread {spread}", normal(r, 60, 80, spread) + normal(r, 3, 90, spread)
        yield f"a step at the beginning, spread {spread}", normal(r, 4, 80, spread) + normal(r, 50, 90, spread)
    for length in (2, 3, 5, 10, 12, 49, 50, 51, 74, 75, 76, 101):
        yield f"{length} quiet nights", normal(r, length, 20000, 0.02)
    for length in (10, 20, 52, 120):
        yield f"{length} nights with a step in the middle", normal(r, length // 2, 20000, 0.02) + normal(r, length // 2, 22000, 0.02)
    bad = normal(r, 90, 1000, 0.02)
    for at in (11, 30, 31, 62, 89):
        bad[at] *= 0.7
    yield "bad nights", bad
    correlated, last = [], 0.0
    for _ in range(150):
        last = 0.5 * last + math.sqrt(0.75) * r.gauss(0, 1)
        correlated.append(1000 * (1 + 0.02 * last))
    yield "correlated nights", correlated
    yield "a drift", [1000 * (1 + 0.002 * i) * (1 + 0.01 * r.gauss(0, 1)) for i in range(120)]
    yield "two modes", [r.choice((950.0, 1050.0)) + r.gauss(0, 5) for _ in range(100)]
    for i in range(12):
        values, level = [], 1000.0
        while len(values) < 230:
            values += normal(r, r.randint(4, 45), level, 0.02)
            level *= 1 + r.choice((-1, 1)) * r.uniform(0.02, 0.12)
        yield f"steps by chance, {i}", values


def main():
    r = random.Random(20261203)
    cases = []
    for name, values in series(r):
        values = [round(value, 4) for value in values]
        case = {"name": name, "values": values}
        for least in (0.0, 0.03):
            published = changes(values, least, PUBLISHED_MERGE)
            mended = changes(values, least, mended_merge)
            case[str(least)] = {"mended": mended}
            if [c["at"] for c in published] != [c["at"] for c in mended]:
                case[str(least)]["as_published"] = published
        cases.append(case)
    tests = []
    for n, m in ((1, 2), (2, 2), (3, 7), (5, 5), (20, 3), (40, 60), (1, 30)):
        for shift in (0.0, 0.4, 1.5, 6.0):
            left = [round(r.gauss(10, 1), 4) for _ in range(n)]
            right = [round(r.gauss(10 + shift, 1), 4) for _ in range(m)]
            p = scipy.stats.ttest_ind(left, right).pvalue
            if math.isfinite(p):
                tests.append({"left": left, "right": right, "p": float(p)})
    with open("golden.json", "w") as file:
        json.dump({"cases": cases, "t_tests": tests}, file, separators=(",", ":"))
        file.write("\n")
    differ = [(c["name"], k) for c in cases for k in ("0.0", "0.03") if "as_published" in c[k]]
    print(len(cases), "series,", len(tests), "t-tests; as published otherwise:", differ)


main()
