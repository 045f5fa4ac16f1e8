import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { findDifference } from '../../fuzz/findDifference.ts'
import { parseCase } from '../../fuzz/fuzzCase.ts'
import { createTestEngine, ENGINE_NAMES } from '../../testEngines.ts'

const DIRECTORY = new URL('../../fuzz/regressions/', import.meta.url)

/** Minimised cases on which the two engines once differed. */
describe.each(readdirSync(DIRECTORY))('%s', (file) => {
  const fuzzCase = parseCase(readFileSync(new URL(file, DIRECTORY), 'utf8'))

  it.each(ENGINE_NAMES.filter((name) => name !== 'reference'))('%s and reference agree', async (name) => {
    const engines = [await createTestEngine(name), await createTestEngine('reference')] as const
    expect(await findDifference(fuzzCase, engines)).toEqual([])
    expect(await findDifference({ ...fuzzCase, isSliced: true }, engines)).toEqual([])
  })
})
