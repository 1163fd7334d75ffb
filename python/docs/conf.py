"""Settings of the site: ``sphinx-build -W -n python/docs DIR``, where dpsparse and its extra "docs" are installed."""

import dpsparse

project = "dpsparse"
author = "The authors of dpsparse"
version = release = dpsparse.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
html_theme = "furo"
html_title = f"dpsparse {version}"

# Pages are Markdown, with formulas between dollars; headings are targets of links.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Docstrings say types in words, which are no names to link to; signatures are those of the code.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # What mixins of this package bring is documented with each estimator; what others bring stands in their manuals.
    "inherited-members": "ABC, BaseEstimator, BaseException, ClassifierMixin, Exception, MetaEstimatorMixin, object, "
    "OneToOneFeatureMixin, RegressorMixin, TransformerMixin, tuple, UserWarning, ValueError",
    "exclude-members": "get_metadata_routing, set_fit_request, set_score_request, set_output",
}

# Every reference to a name of our own must lead somewhere. Other packages are named, and not linked.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(copy|hypothesis|matplotlib|numpy|pickle|sklearn)(\..*)?")]
