import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { rawMethods } from '../../src/rpc/debug/raw.ts'
import { traceMethods } from '../../src/rpc/debug/traces.ts'
import { ethMethods } from '../../src/rpc/eth/methods.ts'
import { createMethodTable } from '../../src/rpc/method.ts'
import { netMethods } from '../../src/rpc/nodeMethods.ts'
import { txpoolMethods } from '../../src/rpc/txpool.ts'
import { readCases } from './rpcCompat/exchanges.ts'
import { gradeReply } from './rpcCompat/grade.ts'
import { answer, openRpcCompatNode } from './rpcCompat/rpcCompatNode.ts'

/** The JSON-RPC suite of ethereum/execution-apis: a chain to import, requests and replies. Skipped where it is absent. */
const SUITE = fileURLToPath(new URL('../../../shared/fixtures/rpc-compat/', import.meta.url))

/** Names of the cases that pass, one a line: the list only grows. */
const EXPECTED = fileURLToPath(new URL('./rpcCompat/expectedPasses.txt', import.meta.url))

describe.skipIf(!existsSync(SUITE))('execution-apis', () => {
  const cases = existsSync(SUITE) ? readCases(`${SUITE}tests`) : []
  const expected = readFileSync(EXPECTED, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  const faults = new Map<string, string>()

  beforeAll(async () => {
    const methods = createMethodTable([...ethMethods, ...rawMethods, ...traceMethods, ...netMethods, ...txpoolMethods])
    const context = await openRpcCompatNode(SUITE)
    // One node and one order for all: what a case sends is in the pool for the next ones.
    for (const { name, specOnly, exchanges } of cases) {
      for (const { request, reply } of exchanges) {
        const fault = gradeReply(await answer(methods, context, request), reply, specOnly)
        if (fault !== undefined) faults.set(name, fault)
      }
    }
  })

  test.each(expected)('%s', (name) => {
    expect(cases.some((item) => item.name === name)).toBe(true)
    expect(faults.get(name)).toBeUndefined()
  })

  test('every case that passes is in the list of expected passes', () => {
    const passing = cases.map(({ name }) => name).filter((name) => !faults.has(name))
    expect(passing.filter((name) => !expected.includes(name))).toEqual([])
  })
})
