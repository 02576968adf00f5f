'use strict';
/*
 * Finds the bundle of this repository's sources, and makes it where it is missing or older than they are. Not part
 * of the published package, which has one bundle.
 */
const { existsSync, readdirSync, statSync } = require('node:fs');
const { join } = require('node:path');

const ROOT = join(__dirname, '../../..');
const BUILD = join(ROOT, 'packages/server/build.js');

/** Files and folders that a bundle is made of. */
const INPUTS = [
  'openapi.json',
  'package-lock.json',
  'packages/client/src',
  'packages/dialects/src',
  'packages/providers/src',
  'packages/server/build.js',
  'packages/server/package.json',
  'packages/server/src',
  'packages/web/dist',
];

/** The last change of a file, or of anything in a folder, which itself changes when a file of it is removed. */
function changed(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  // Faster than `recursive`, which joins and normalizes a path for each entry.
  return readdirSync(path).reduce(
    (newest, name) => Math.max(newest, changed(`${path}/${name}`)),
    stats.mtimeMs,
  );
}

/**
 * The folder of the bundle. Each state of the sources has a folder of its own, so that a server that runs can load
 * further files of its bundle after the sources have changed.
 */
function bundleFolder() {
  const newest = Math.max(...INPUTS.map((path) => changed(join(ROOT, path))));
  return join(ROOT, 'packages/server/dist', Math.floor(newest).toString(36));
}

/** @returns undefined where it cannot be made, as in an installation without development dependencies */
function upToDateBundle() {
  const folder = bundleFolder();
  const isThere = () => existsSync(join(folder, 'main.cjs'));
  if (!isThere() && existsSync(BUILD)) {
    const { spawnSync } = require('node:child_process');
    spawnSync(process.execPath, [BUILD], { stdio: ['ignore', 2, 2] });
  }
  return isThere() ? folder : undefined;
}

exports.bundleFolder = bundleFolder;
exports.upToDateBundle = upToDateBundle;
