'use strict';
// `testEnvironment: 'mayfly/jest-environment'`: a Mayfly for each file of tests, in the process of Jest. Published
// only; tests find it by the variables below. Where MAYFLY_URL is set, that server is used.
const { TestEnvironment } = require('jest-environment-node');
const { startMayfly } = require('../dist/start-mayfly.cjs');

module.exports = class MayflyEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    const { env } = this.global.process;
    if (env.MAYFLY_URL) return;
    this.mayfly = await startMayfly();
    const { url, apiKey, smtp } = this.mayfly;
    env.MAYFLY_URL = url;
    env.MAYFLY_API_KEY = apiKey;
    env.MAYFLY_SMTP_HOST = smtp.host;
    env.MAYFLY_SMTP_PORT = String(smtp.port);
  }

  async teardown() {
    await this.mayfly?.stop();
    await super.teardown();
  }
};
