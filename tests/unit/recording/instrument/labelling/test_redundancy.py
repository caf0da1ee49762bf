"""Labels that others in the same chain make superfluous."""

from commanalyzer.recording.instrument.labelling.labels import LabelForms


def test_a_control_label_of_a_value_in_the_chain_is_left_out() -> None:
    forms = LabelForms()
    forms.control("c", "x")
    assert forms.distinct(("c", "y", "x")) == ("y", "x")
    assert forms.distinct(("x", "c")) == ("x",)
    assert forms.distinct(("c", "y")) == ("c", "y")


def test_of_equal_labels_the_first_stays_or_the_needed_one() -> None:
    forms = LabelForms()
    forms.same("clean", "x")
    assert forms.distinct(("clean", "x")) == ("clean",)
    assert forms.distinct(("clean", "x"), "x") == ("x",)
    assert forms.distinct(("x", "clean"), "x") == ("x",)


def test_a_selected_label_is_covered_where_another_is_there_as_well() -> None:
    """``a`` is x where p holds; ``b`` where p and q hold; ``n`` where p does not; the control of x always."""
    forms = LabelForms()
    forms.chosen("a", "%p", "x", "0")
    forms.chosen("b", "%q", "a", "0")
    forms.chosen("n", "%p", "0", "x")
    forms.control("always", "x")
    assert forms.distinct(("a", "b")) == ("a",)
    assert forms.distinct(("b", "a")) == ("a",)
    assert forms.distinct(("a", "n")) == ("a", "n")
    assert forms.distinct(("always", "a")) == ("always", "a")  # the weaker role covers nothing stronger
    assert forms.distinct(("a", "b", "n", "always", "x")) == ("x",)


def test_a_choice_between_labels_of_one_value_is_there_on_its_own_terms() -> None:
    forms = LabelForms()
    forms.chosen("a", "%p", "x", "0")
    forms.chosen("b", "%q", "x", "a")  # where q or p holds
    forms.control("c", "b")
    forms.chosen("d", "%r", "c", "0")
    assert forms.distinct(("b", "a")) == ("b", "a")
    assert forms.distinct(("b", "c", "d")) == ("b",)
    forms.chosen("same", "%q", "x", "x")
    assert forms.distinct(("same", "x")) == ("same",)


def test_choices_between_different_values_or_roles_stand_for_themselves() -> None:
    forms = LabelForms()
    forms.control("c", "x")
    forms.chosen("either", "%p", "x", "y")
    forms.chosen("role", "%p", "x", "c")
    assert forms.distinct(("x", "y", "either")) == ("x", "y", "either")
    assert forms.distinct(("x", "role")) == ("x", "role")
