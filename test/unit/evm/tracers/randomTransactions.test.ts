import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { productionEngine } from '../../../support/evm/productionEngine.ts'
import { expectedOf, type GethCase, traceCase, type VectorFile } from '../../../support/evm/tracers/gethCase.ts'

/**
 * 500 random transactions: calls, creations, access lists and delegations to and of contracts whose random code calls, creates, logs, stores,
 * reverts, fails and destroys itself; with the traces that geth 1.17.10 gave of each.
 */
const vectors: VectorFile = JSON.parse(
  brotliDecompressSync(
    readFileSync(new URL('../../../support/evm/tracers/vectors/randomTransactions.json.br', import.meta.url)),
  ).toString('utf8'),
)

/** The price of an opcode that the gas left does not pay for is partly left out here: nothing is charged then. */
function withoutUnpaidPrices(trace: unknown): unknown {
  const { structLogs, ...rest } = trace as { structLogs: readonly { readonly error?: string }[] }
  return { ...rest, structLogs: structLogs.map((log) => (log.error === 'out of gas' ? { ...log, gasCost: 0 } : log)) }
}

/** A write in a static call is no lack of gas here, see `WORDS` of gethCase.ts; in words of parity and for bundlers geth says it is. */
function hasForbiddenWrite(one: GethCase): boolean {
  return JSON.stringify(one.traces['callTracer']).includes('out of gas: write protection')
}
const WITH_REASONS = new Set(['flatParity', 'erc7562', 'erc7562All'])

describe.each(vectors.tracers)('$name ($tracer $config)', ({ name, tracer, config }) => {
  it('traces random transactions as geth does', async () => {
    let compared = 0
    for (const one of vectors.cases) {
      const expected = one.traces[name]
      if (expected === undefined || (WITH_REASONS.has(name) && hasForbiddenWrite(one))) continue
      const normal = name === 'struct' ? withoutUnpaidPrices : (trace: unknown) => trace
      const trace = await traceCase(productionEngine, one, tracer, config)
      expect(normal(trace), one.name).toEqual(normal(expectedOf(expected)))
      compared += 1
    }
    expect(compared).toBeGreaterThan(100)
  })
})
