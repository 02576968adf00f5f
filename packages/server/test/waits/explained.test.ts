import { describeOnSqlite } from '../support/nodes.ts';
import { describeExplained } from './describe-explained.ts';

describeOnSqlite('a wait that fails', describeExplained);
