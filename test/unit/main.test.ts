import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { showNodeId } from '../../src/main.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-main-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const configOf = (homedir: string) =>
  loadConfig({ flags: { HOMEDIR: homedir }, environment: {}, dotenv: {} }, directory)

describe('showNodeId', () => {
  it('makes the key of a directory that is not there yet, for its owner alone', async () => {
    const home = join(directory, 'home')
    const id = await showNodeId(configOf(home))
    expect(id).toMatch(/^[0-9a-f]{40}$/)
    expect(await showNodeId(configOf(home))).toBe(id)
    const modes = [home, join(home, 'config'), join(home, 'config/node_key.json')].map(
      (path) => statSync(path).mode & 0o777,
    )
    expect(modes).toEqual([0o700, 0o700, 0o600])
  })
})
