"""What a certificate states of seeded runs, which have no guarantee and never verify."""


def keeps_its_claim(certificate):
    """Tell whether the events cost at most what is claimed; False for what is not proved or was changed."""
    epsilon, delta = certificate.claim
    return certificate.delta(epsilon) <= delta and certificate.epsilon(delta) <= epsilon
