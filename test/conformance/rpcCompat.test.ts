import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { PROPERTY_RUNS } from '../propertyRuns.ts'
import { askSimulation } from './gethSimulate/askSimulation.ts'
import { difference } from './gethSimulate/differences.ts'
import { decodeVectors } from './gethSimulate/vectors.ts'
import { readCases } from './rpcCompat/exchanges.ts'
import { gradeCases } from './rpcCompat/gradeCases.ts'
import { type SuiteServer, startSuiteServer } from './rpcCompat/startSuiteServer.ts'

/** The JSON-RPC suite of ethereum/execution-apis: a chain to import, requests and replies. Skipped where it is absent. */
const SUITE = fileURLToPath(new URL('../../../shared/fixtures/rpc-compat/', import.meta.url))

describe.skipIf(!existsSync(SUITE))('execution-apis', () => {
  const cases = existsSync(SUITE) ? readCases(join(SUITE, 'tests')) : []
  let server: SuiteServer
  let faults: ReadonlyMap<string, string>

  beforeAll(async () => {
    server = await startSuiteServer(SUITE)
    faults = await gradeCases(server.url, cases, SUITE)
    return () => server.close()
  })

  test.each(cases.map(({ name }) => name))('%s', (name) => {
    expect(faults.get(name)).toBeUndefined()
  })

  test('random simulations are answered as geth 1.17.10 answers them', async () => {
    const all = decodeVectors(readFileSync(new URL('./vectors/simulate.json.br', import.meta.url)))
    const vectors = all.filter((_, index) => PROPERTY_RUNS > 1 || index % 2 === 0)
    const found: string[] = []
    for (const [index, { params, answer }] of vectors.entries()) {
      const where = difference(await askSimulation(server.url, params), answer)
      if (where !== undefined) found.push(`${index}: ${where}`)
    }
    expect(vectors.length).toBeGreaterThan(50)
    expect(found).toEqual([])
  }, 120_000)
})
