'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');

/** The oldest Node.js that runs the sources: older ones do not read TypeScript, or lack parts of node:sqlite. */
const OLDEST = [24, 15];

/** Systems for which npm has a package with a Node.js binary: those of scripts/node/package.json. */
const BUNDLED = ['linux-x64', 'linux-arm64', 'win-x64'];

/** False where it was installed from npm: then there is no Node.js beside it. */
const isRepository = existsSync(join(__dirname, '../../../scripts/prepare-node.js'));

/** This system, as the names of those packages end. */
const SYSTEM = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

const isBundled = BUNDLED.includes(SYSTEM);

/** @param {string} version such as `24.15.0` */
function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/**
 * What to do when this Node.js is too old.
 * @returns {string | null} sentences for the user; null when it is new enough
 */
function versionProblem() {
  if (isNewEnough(process.versions.node)) return null;
  const wrong = `Mayfly needs Node ${OLDEST.join('.')} or newer, and this is ${process.versions.node}.`;
  const advice = `install Node ${OLDEST[0]} from https://nodejs.org or with your version manager`;
  if (!isRepository) {
    const other = isBundled
      ? ` Or run it with the one of npm: \`npx -y --package=node-${SYSTEM}@${OLDEST[0]} --package=mayfly mayfly dev\`.`
      : '';
    return `${wrong} Please ${advice}, and run the command again.${other}`;
  }
  return isBundled
    ? `${wrong} \`npm ci\` installs another beside the project, which \`npm start\` and \`npx mayfly\` use. After \`npm ci --ignore-scripts\` run \`node scripts/prepare-node.js\`.`
    : `${wrong} For this system (${SYSTEM}) npm has no Node package that the project could bring: ${advice}, and run \`npm start\` again.`;
}

exports.isBundled = isBundled;
exports.SYSTEM = SYSTEM;
exports.versionProblem = versionProblem;
