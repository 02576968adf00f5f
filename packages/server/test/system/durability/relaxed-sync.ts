/*
 * A mutant: loaded before the server (`node --import`), in its threads too, it makes SQLite's commits
 * return before the sync, as `synchronous = normal` does, and hides that from the check at the start.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';

const { exec, prepare } = DatabaseSync.prototype;

DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql === 'pragma synchronous = full' ? 'pragma synchronous = normal' : sql);
};

DatabaseSync.prototype.prepare = function (sql, options): StatementSync {
  return prepare.call(this, sql === 'pragma synchronous' ? 'select 2 as synchronous' : sql, options);
};
