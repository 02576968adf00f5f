import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { prepareFolder } from '../../../src/database/sqlite/connection.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { backUp, restore } from '../../../src/operations/backup.ts';
import { useFolderOfTest } from '../../support/folder.ts';

const expectPrivate = (path: string) => expect(statSync(path).mode & 0o777, path).toBe(0o600);

describe('the files of a database', () => {
  const folderOfTest = useFolderOfTest();
  let home: string;
  beforeEach(() => {
    home = folderOfTest();
    chmodSync(home, 0o755);
  });

  it('are readable by their owner only, whatever the permissions of the folder', async () => {
    const path = join(home, 'mayfly.db');
    const store = await openSqlite({ path });
    await store.ping();
    for (const suffix of ['', '-wal', '-shm', '.lock']) expectPrivate(path + suffix);
    backUp(path, join(home, 'backup.db'));
    await store.close();
    const replaced = await restore(path, join(home, 'backup.db'), '.replaced');
    for (const file of [path, join(home, 'backup.db'), replaced ?? '']) expectPrivate(file);
  });

  it('lose the permissions for others that an earlier version gave them', async () => {
    const path = join(home, 'mayfly.db');
    await (await openSqlite({ path })).close();
    writeFileSync(`${path}.lock`, '');
    for (const suffix of ['', '.lock']) chmodSync(path + suffix, 0o664);
    const store = await openSqlite({ path });
    for (const suffix of ['', '-wal', '.lock']) expectPrivate(path + suffix);
    await store.close();
  });

  it('are in folders that are on stable storage before the first mail can be acknowledged, also after an interrupted start', () => {
    const folder = join(home, 'var', 'lib', 'mayfly');
    const sync = () => {
      const synced: string[] = [];
      prepareFolder(join(folder, 'mayfly.db'), (one) => synced.push(one));
      return synced;
    };
    // The entry of each new folder is in its parent; those of the files are in the folder.
    const parents = [join(home, 'var', 'lib'), folder];
    expect(sync()).toEqual(expect.arrayContaining([home, join(home, 'var'), ...parents]));
    expect(existsSync(join(folder, 'mayfly.db'))).toBe(true);
    expect(sync()).toEqual(expect.arrayContaining(parents));
  });
});
