"""Tables of the steps as pages show them, also where another program has saved them again."""

from peerfront.web.app.tables import curve_of, estimates_of, people_on, rows_of


def test_a_sheet_that_a_spreadsheet_saved_with_semicolons_is_nobody(tmp_path) -> None:
    file = tmp_path / "sheet.csv"
    file.write_text("person;coupons\nA;3\n")
    assert rows_of(file)
    assert people_on(rows_of(file)) == []
    file.write_text("person,coupons\nA,three\n")
    assert people_on(rows_of(file)) == []
    assert curve_of(rows_of(file), 3) is None


def test_a_mean_is_no_share_and_valid_estimates_come_first() -> None:
    def row(outcome: str, category: str, estimator: str, valid: str) -> dict[str, str]:
        return {
            "outcome": outcome, "group": "everybody", "category": category, "estimator": estimator, "valid": valid,
        }  # fmt: skip

    rows = [
        row("age", "mean", "mean", "False"),
        row("age", "mean", "stratified", "True"),
        row("sex", "f", "mean", "False"),
        row("sex", "f", "stratified", "True"),
    ]
    told = estimates_of(rows)
    assert [(each["outcome"], each["estimator"]) for each in told] == [
        ("age", "stratified"), ("age", "mean"), ("sex", "stratified"), ("sex", "mean"),
    ]  # fmt: skip
    assert [each["is_mean"] for each in told] == [True, True, False, False]
