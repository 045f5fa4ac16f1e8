import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../../support/evm/evmFixture.ts'
import { expectedOf, traceCase, type VectorFile } from '../../../support/evm/tracers/gethCase.ts'

const vectors: VectorFile = JSON.parse(
  readFileSync(new URL('../../../support/evm/tracers/vectors/geth-1.17.10.json', import.meta.url), 'utf8'),
)
/** Prices of opcodes that fail while they are priced, and parity's words for that: of no use to anybody. */
const DIFFERENT = new Map([
  ['flatParity', /^a write in a static call: (sstore|create|sdestruct|callvalue)$/],
  ['struct', /^a frame that fails: rdc$/],
])

const runs = ENGINES.flatMap((engine) => vectors.tracers.map((entry) => ({ ...entry, engine })))

describe.each(runs)('$engine.name: $name ($tracer $config)', ({ engine, name, tracer, config }) => {
  const cases = vectors.cases.filter((one) => DIFFERENT.get(name)?.test(one.name) !== true)
  it.each(cases)('traces $name as geth does', async (one) => {
    expect(await traceCase(engine, one, tracer, config)).toEqual(expectedOf(one.traces[name]))
  })
})
