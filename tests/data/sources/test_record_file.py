from heedful.data.sources.record_file import RecordFile


def test_rows_are_lines_where_a_line_is_a_record_and_otherwise_counted_from_1():
    records = [{"x": 1}, {"x": 2}]
    assert list(RecordFile("a.csv", ("x",), records, ["line 2", "line 5"]).rows) == [1, 2]
    assert list(RecordFile("a.jsonl", ("x",), records, ["line 2", "line 5"], lines=[2, 5]).rows) == [2, 5]
