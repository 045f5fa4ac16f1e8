import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { readCases } from './rpcCompat/exchanges.ts'
import { gradeCases } from './rpcCompat/gradeCases.ts'
import { startSuiteServer } from './rpcCompat/startSuiteServer.ts'

/** The JSON-RPC suite of ethereum/execution-apis: a chain to import, requests and replies. Skipped where it is absent. */
const SUITE = fileURLToPath(new URL('../../../shared/fixtures/rpc-compat/', import.meta.url))

describe.skipIf(!existsSync(SUITE))('execution-apis', () => {
  const cases = existsSync(SUITE) ? readCases(join(SUITE, 'tests')) : []
  let faults: ReadonlyMap<string, string>

  beforeAll(async () => {
    const server = await startSuiteServer(SUITE)
    faults = await gradeCases(server.url, cases, SUITE)
    await server.close()
  })

  test.each(cases.map(({ name }) => name))('%s', (name) => {
    expect(faults.get(name)).toBeUndefined()
  })
})
