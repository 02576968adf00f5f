import { openTemporary } from './open-sqlite.ts';
import { describeStore } from './suite.ts';

describeStore('the store on SQLite', () => openTemporary());
