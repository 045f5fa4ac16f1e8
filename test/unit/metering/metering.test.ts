import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findMissingRows } from '../../metering/findProblems.ts'

const MAIN = join(import.meta.dirname, '../../metering/main.ts')

it('every message, function of a precompile, hook of blocks and view has a row', () => {
  expect(findMissingRows()).toEqual([])
})

/** In a process of its own: it counts what is compiled after the counter has started. */
it('what every operation does has a payer and a bound, however large strangers make the state', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, '--quiet'], { encoding: 'utf8' })
  expect(`${stdout}${stderr}`).toMatch(/^\d+ operations, 0 problems$/m)
  expect(status).toBe(0)
})
