import { describeOnPostgres } from '../support/nodes.ts';
import { describeExplained } from './describe-explained.ts';

describeOnPostgres('a wait that fails', describeExplained);
