import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeWorkDirectory } from '../../../src/datadir/workDirectory.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'coind-work-'))
})
afterEach(() => rmSync(home, { recursive: true }))

/** Another process that makes its own, says where, and ends with its standard input. */
const OTHER = `
import { makeWorkDirectory } from ${JSON.stringify(new URL('../../../src/datadir/workDirectory.ts', import.meta.url))}
const { path } = await makeWorkDirectory(process.argv[1])
console.log(path)
process.stdin.resume()
`

it('what ended commands have left is removed, and nothing of those that run', async () => {
  const other = spawn(process.execPath, ['--input-type=module', '-e', OTHER, home], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(other, 'exit')
  const path = String((await once(other.stdout, 'data'))[0]).trim()
  // As an earlier version named it, and one that was killed between two steps or damaged.
  const left = ['copy-1-abc', 'copy-empty', 'copy-damaged'].map((name) => join(home, name))
  for (const directory of left) mkdirSync(directory)
  mkdirSync(join(left[2]!, 'lock'))
  writeFileSync(join(left[2]!, 'lock', 'CURRENT'), 'nonsense\n')
  const first = await makeWorkDirectory(home)
  expect(left.filter(existsSync)).toEqual([])
  expect([path, first.path].map((place) => readdirSync(place))).toEqual([[], []])
  other.kill('SIGKILL')
  await ended
  expect(existsSync(path)).toBe(true)
  await first.remove()
  const second = await makeWorkDirectory(home)
  expect([path, dirname(path)].filter(existsSync)).toEqual([])
  await second.remove()
  expect(readdirSync(home)).toEqual([])
})
