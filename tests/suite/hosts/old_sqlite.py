"""Opens a file with the SQLite that Python finds: reads each table and view, writes each row of sweep's anew, fires each trigger, and checks
the file. Prints the version, and how many rows were written."""

import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
written = 0


def names(kind, condition="true"):
    return [name for name, in db.execute(f"select name from sqlite_master where type = '{kind}' and {condition} order by name")]


db.execute("pragma foreign_keys = off")
assert "host" in "".join(names("table")), names("table")
for relation in names("table", "name not like 'sqlite_%'") + names("view"):
    db.execute(f'select * from "{relation}"').fetchall()
db.execute("begin immediate")
for table in names("table", "sql like '%) strict'"):
    rows = db.execute(f'select * from "{table}"').fetchall()
    db.execute(f'delete from "{table}"')
    for row in rows:
        db.execute(f'insert into "{table}" values ({", ".join("?" * len(row))})', row)
        written += 1
db.execute("rollback")
found = db.execute("pragma integrity_check").fetchall() + db.execute("pragma foreign_key_check").fetchall()
assert found == [("ok",)], found
print(sqlite3.sqlite_version, written)
