/*
 * A mutant, loaded into the server and its threads (`node --import`): commits of SQLite return before the sync, as with
 * `synchronous = normal`, and the check at the start does not notice it.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';

const { exec, prepare } = DatabaseSync.prototype;

DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql === 'pragma synchronous = full' ? 'pragma synchronous = normal' : sql);
};

DatabaseSync.prototype.prepare = function (sql, options): StatementSync {
  return prepare.call(this, sql === 'pragma synchronous' ? 'select 2 as synchronous' : sql, options);
};
