import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PROPERTY_RUNS } from '../propertyRuns.ts'
import { askSimulation } from './gethSimulate/askSimulation.ts'
import { difference } from './gethSimulate/differences.ts'
import { decodeVectors } from './gethSimulate/vectors.ts'
import { startSuiteServer } from './rpcCompat/startSuiteServer.ts'

const SUITE = fileURLToPath(new URL('../../../shared/fixtures/rpc-compat/', import.meta.url))

test.skipIf(!existsSync(SUITE))(
  'random simulations are answered as geth 1.17.10 answers them',
  async () => {
    const all = decodeVectors(readFileSync(new URL('./vectors/simulate.json.br', import.meta.url)))
    const vectors = all.filter((_, index) => PROPERTY_RUNS > 1 || index % 2 === 0)
    const server = await startSuiteServer(SUITE)
    const found: string[] = []
    for (const [index, { params, answer }] of vectors.entries()) {
      const where = difference(await askSimulation(server.url, params), answer)
      if (where !== undefined) found.push(`${index}: ${where}`)
    }
    await server.close()
    expect(vectors.length).toBeGreaterThan(50)
    expect(found).toEqual([])
  },
  120_000,
)
