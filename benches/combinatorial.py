"""Private sets beside exact ones: coverage of real texts, and the dense parts of a real graph.

1. Coverage: ten words that as many film reviews as possible have, a person a review (imdb, which must be at hand), of
   the thousand most frequent words beyond the hundred most frequent ones. Peers: the greedy algorithm without privacy,
   and ten words of the thousand at random.
2. Dense parts of a graph: who appears with whom in Les Miserables (Knuth 1993; networkx, which must be installed), a
   person an appearance of two characters together. Of all sets of characters, which has the most pairs in it, less a
   price a character? The exact answers, for each price, are minimum cuts (Goldberg 1984), by scipy.

Run: ``python benches/combinatorial.py [--quick] [coverage] [graph]``; without a part, both.
"""

import sys

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from _timing import QUICK, headline, shared
from dpsparse.combinatorial import PrivateCoverage, PrivateMinimumNormPoint, PrivateSubmodularMinimizer
from dpsparse.set_functions import FromOracle

SEEDS = 2 if QUICK else 10
CHOSEN = 10
#: Prices are multiples of 1/FLOW, so that cuts have integer capacities.
FLOW = 100


def greedy(X: sp.csc_array, k: int) -> float:
    """Return the share of rows that the greedy algorithm covers by k columns."""
    open_rows = np.ones(X.shape[0])
    for _ in range(k):
        best = int(np.argmax(X.T @ open_rows))
        open_rows[X.indices[X.indptr[best] : X.indptr[best + 1]]] = 0.0
    return 1.0 - float(open_rows.mean())


def coverage() -> None:
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    X = sp.csc_array(load("imdb").X)
    frequent = np.argsort(-np.diff(X.indptr), kind="stable")[100:1100]
    X = sp.csc_array(X[:, frequent] != 0).astype(np.float64)
    headline(f"Share of {X.shape[0]} reviews with one of {CHOSEN} words out of {X.shape[1]}")
    rng = np.random.default_rng(0)
    drawn = [X[:, rng.choice(X.shape[1], CHOSEN, replace=False)].max(axis=1).toarray().mean() for _ in range(SEEDS)]
    print(f"  greedy, not private: {greedy(X, CHOSEN):.3f}; at random: {np.mean(drawn):.3f}")
    rows = sp.csr_array(X)
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        model = PrivateCoverage(CHOSEN, epsilon)
        shares = [model.fit(rows).value(rows) for _ in range(SEEDS)]
        short = model.plan(*rows.shape).shortfall(0.05) / rows.shape[0]
        print(
            f"  epsilon {epsilon:3g}: {np.mean(shares):.3f} +- {np.std(shares, ddof=1) / SEEDS**0.5:.3f}, "
            f"a choice falls short by {short:.4f} at most with probability .95"
        )


def dense_part(pairs: np.ndarray, n_nodes: int, price: float) -> float:
    """Return the most pairs inside a set of nodes, less ``price`` a node, over the number of pairs."""
    n, source, sink = len(pairs), n_nodes, n_nodes + 1
    many = FLOW * n
    first = n_nodes + 2
    rows = np.concatenate([np.full(n, source), np.arange(n) + first, np.arange(n) + first, np.arange(n_nodes)])
    cols = np.concatenate([np.arange(n) + first, pairs[:, 0], pairs[:, 1], np.full(n_nodes, sink)])
    capacity = np.concatenate([np.full(n, FLOW), np.full(2 * n, many), np.full(n_nodes, round(price * FLOW))])
    graph = sp.csr_array((capacity.astype(np.int32), (rows, cols)), shape=(first + n, first + n))
    return 1.0 - maximum_flow(graph, source, sink).flow_value / many


def gain(pairs: np.ndarray, chosen: np.ndarray, price: float) -> float:
    """Return what a set of nodes has of :func:`dense_part`."""
    inside = np.isin(pairs, chosen).all(axis=1).mean()
    return float(inside - price * len(chosen) / len(pairs))


def graph() -> None:
    import networkx

    network = networkx.convert_node_labels_to_integers(networkx.les_miserables_graph(), ordering="sorted")
    pairs = np.array([pair for *pair, weight in network.edges(data="weight") for _ in range(int(weight))])
    p, n = len(network), len(pairs)
    headline(f"Dense parts of {n} appearances of two of {p} characters: the share of pairs inside, less prices")
    prices = np.array([3.0, 6.0, 9.0, 12.0])
    exact = [dense_part(pairs, p, price) for price in prices]
    print(f"  {'price of a character, in pairs':44s}" + "".join(f"{price:8.0f}" for price in prices))
    print(f"  {'exact: minimum cuts':44s}" + "".join(f"{value:8.3f}" for value in exact))
    both = [
        FromOracle(lambda A, u=u, v=v, cost=0.0: cost * len(A) - float(u in A and v in A), p) for u, v in pairs.tolist()
    ]
    for epsilon in (1.0, 4.0, 20.0):
        found = []
        for _ in range(SEEDS):
            point = PrivateMinimumNormPoint(epsilon, 1e-6, n_iter=20).fit(both)
            found.append([gain(pairs, point.minimizer(price / n), price) for price in prices])
        print(f"  {f'minimum-norm point, epsilon {epsilon:g}':44s}" + "".join(f"{v:8.3f}" for v in np.mean(found, 0)))
        found = []
        for price in prices:
            priced = [
                FromOracle(lambda A, u=u, v=v, cost=price / n: cost * len(A) - float(u in A and v in A), p)
                for u, v in pairs.tolist()
            ]
            norm = (1.0 + p * (price / n) ** 2) ** 0.5
            model = PrivateSubmodularMinimizer(epsilon, 1e-6, n_iter=20, norm=norm)
            found.append([gain(pairs, model.fit(priced).minimizer_, price) for _ in range(SEEDS)])
        print(
            f"  {f'minimiser of one price, epsilon {epsilon:g}':44s}" + "".join(f"{v:8.3f}" for v in np.mean(found, 1))
        )


def main() -> None:
    parts = {"coverage": coverage, "graph": graph}
    wanted = [name for name in sys.argv[1:] if name in parts] or list(parts)
    for name in wanted:
        parts[name]()


if __name__ == "__main__":
    main()
