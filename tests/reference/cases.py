"""Tiny problems for the tests of private Frank-Wolfe: as the reference states them, and as estimators."""

import numpy as np

from dpsparse import DisjointGroups, Hinge, Huber, PrivateSparseClassifier, PrivateSparseRegressor, Vertices, _core

from .frank_wolfe import Problem

DOMAINS = ("l1", "simplex", "linf", "groups", "vertices")
VERTICES = {1: ((1.0,), (-0.5,)), 2: ((1.0, 0.0), (-0.5, 0.7), (0.3, -1.0)), 3: ((1.0, 0.0, -0.3), (0.2, -1.0, 0.5))}
GROUPS = {1: ((0,),), 2: ((0, 1),), 3: ((0, 2), (1,))}


def problem(domain, p, **facts):
    """A problem over one of the domains in p features."""
    facts = {"lower": (-1.0,) * p, "upper": (1.0,) * p} | facts
    if domain == "groups":
        facts["groups"] = GROUPS[p]
    if domain == "vertices":
        facts["vertices"] = VERTICES[p]
    return Problem(domain, **facts)


def split(records):
    """Features, and targets, which stand last in a record."""
    return [record[:-1] for record in records], [record[-1] for record in records]


def norm(problem):
    match problem.domain:
        case "groups":
            return DisjointGroups([list(group) for group in problem.groups])
        case "vertices":
            return Vertices(problem.vertices)
    return problem.domain


def estimator(problem, **arguments):
    """The estimator that a user would write for a problem."""
    loss = problem.loss
    if problem.parameter is not None:
        loss = {"hinge": Hinge, "huber": Huber}[loss](problem.parameter)
    arguments = {
        "loss": loss,
        "norm": norm(problem),
        "mechanism": "frank-wolfe",
        "radius": None if problem.domain == "vertices" else problem.radius,
        "bounds": (np.array(problem.lower), np.array(problem.upper)),
        "row_norm": problem.row_norm,
        "fit_intercept": problem.intercept,
        "adjacency": problem.adjacency,
        "records_per_person": problem.records_per_person,
    } | arguments
    if problem.adjacency == "add-remove":
        arguments = {"n_public": 10, "delta": 1e-6} | arguments
    if problem.y_bounds is None:
        return PrivateSparseClassifier(classes=(-1, 1), **arguments)
    return PrivateSparseRegressor(y_bounds=problem.y_bounds, residual_bound=problem.residual_bound, **arguments)


def epsilon0(plan):
    """Bounded range of one selection, read off the plan's event."""
    ((event, _),) = plan.events
    rho = getattr(event, "rho", None)
    return event.epsilon0 if rho is None else float(np.sqrt(8 * rho))


def certificate(plan, problem):
    """What any fit under this plan certifies (it depends on the plan alone)."""
    x, y = np.zeros((plan.n_samples, problem.n_features)), np.full(plan.n_samples, -1.0)
    return _core.fit_private(plan, x, y, seed=0, progress=None)[3]
