import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NodeRefusal } from '../../../../explorer/node/nodeClient.ts'
import { storeVerified, type VerifiedContent } from '../../../../explorer/verify/verifiedContracts.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { openTestDatabases, type TestDatabases } from '../../../support/explorer/testDatabases.ts'
import { createTestServer, refuse } from '../../../support/explorer/testServer.ts'

/* Links of proxies, as hardhat-upgrades asks for them. The node here has storage and code that the tests write down. */

const PROXY = `0x${'a1'.repeat(20)}`
const IMPLEMENTATION = `0x${'b2'.repeat(20)}`
const NEXT = `0x${'b3'.repeat(20)}`
const BEACON = `0x${'c3'.repeat(20)}`
const word = (address: string): string => `0x${address.slice(2).padStart(64, '0')}`
/** keccak-256 of the names in ERC-1967, minus 1; of `PROXIABLE`; of `org.zeppelinos.proxy.implementation` */
const SLOTS = {
  erc1967: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  erc1822: '0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7',
  zeppelin: '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
} as const

let databases: TestDatabases
let app: Awaited<ReturnType<typeof createTestServer>>
/** of PROXY */
let storage: Readonly<Record<string, string>> = {}
let code = '0x6001'
let batches = 0

beforeAll(async () => {
  databases = await openTestDatabases()
  app = await createTestServer({
    queries: databases.database.queries,
    services: databases.services,
    node: {
      ethereum: async (calls) => {
        batches++
        return calls.map(({ method, params }) => {
          if (method === 'eth_getCode') return code
          if (method === 'eth_getStorageAt') return storage[(params as readonly string[])[1]!] ?? word('0x0')
          if ((params as readonly { readonly to?: string }[])[0]!.to === NEXT) {
            throw new NodeRefusal('eth_call', 3, 'execution reverted', '0x')
          }
          expect([method, params]).toMatchObject(['eth_call', [{ to: BEACON, data: '0x5c60da1b' }, 'latest']])
          return word(IMPLEMENTATION)
        })
      },
      comet: refuse,
      rest: refuse,
    },
  })
})
afterAll(async () => {
  await app.close()
  await databases.close()
})
beforeEach(async () => {
  storage = { [SLOTS.erc1967]: word(IMPLEMENTATION) }
  code = '0x6001'
  batches = 0
  await databases.services.deleteFrom('verified_contract').execute()
  await databases.services.deleteFrom('proxy_link').execute()
})

async function verify(address: string, nowMs = 1): Promise<void> {
  const match = { match: 'match' as const, transformations: [], transformationValues: {} }
  const content = {
    ...{ abi: [], metadata: '', userdoc: {}, devdoc: {}, path: 'A.sol', name: 'A', compilerVersion: '0.8.0' },
    input: { language: 'Solidity', sources: {}, settings: {} },
    ...{ storageLayout: null, creation: null },
    runtime: { object: '', onchain: '0x', recompiled: '0x', match },
  } as unknown as VerifiedContent
  await storeVerified(databases.services, hexToBytes(address), undefined, content, nowMs)
}

interface Answer {
  readonly status: string
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: texts and lists
  readonly result: any
}

const post = async (form: Readonly<Record<string, string>>): Promise<Answer> =>
  (
    await app.inject({
      method: 'POST',
      url: '/api?module=contract',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString(),
    })
  ).json()
const link = (expectedimplementation?: string): Promise<Answer> =>
  post({
    action: 'verifyproxycontract',
    address: PROXY,
    ...(expectedimplementation === undefined ? {} : { expectedimplementation }),
  })
const check = (guid: string): Promise<Answer> => post({ action: 'checkproxyverification', guid })
const sourceOf = async () => {
  const { Proxy: proxy, Implementation } = (await post({ action: 'getsourcecode', address: PROXY })).result[0]
  return [proxy, Implementation]
}

describe('links of proxies', () => {
  it.each<[string, Readonly<Record<string, string>>, number]>([
    ['ERC-1967', { [SLOTS.erc1967]: word(IMPLEMENTATION) }, 1],
    ['ERC-1822', { [SLOTS.erc1822]: word(IMPLEMENTATION) }, 1],
    ['OpenZeppelin before ERC-1967', { [SLOTS.zeppelin]: word(IMPLEMENTATION) }, 1],
    ['a beacon of ERC-1967', { [SLOTS.beacon]: word(BEACON) }, 2],
  ])('are made for %s, shown with the sources, and followed by an upgrade', async (_, slots, questions) => {
    storage = slots
    await verify(PROXY)
    await verify(IMPLEMENTATION)
    expect(await sourceOf()).toEqual(['0', ''])
    batches = 0
    const { status, result: guid } = await link(IMPLEMENTATION)
    expect([status, batches]).toEqual(['1', questions])
    expect(await check(guid)).toEqual({
      status: '1',
      message: 'OK',
      result: `The proxy's (${PROXY}) implementation contract is found at ${IMPLEMENTATION} and is successfully updated.`,
    })
    expect(await sourceOf()).toEqual(['1', IMPLEMENTATION])

    await verify(NEXT)
    storage = { [SLOTS.erc1967]: word(NEXT) }
    expect((await link()).status).toBe('1')
    expect(await sourceOf()).toEqual(['1', NEXT])
    expect(await check(guid)).toMatchObject({ status: '0', result: 'Unknown GUID' })
  })

  it('are made for a clone, which has no sources', async () => {
    storage = {}
    code = `0x363d3d373d3d3d363d73${IMPLEMENTATION.slice(2)}5af43d82803e903d91602b57fd5bf3`
    await verify(IMPLEMENTATION)
    expect((await link()).status).toBe('1')
    expect(await sourceOf()).toEqual(['1', IMPLEMENTATION])
  })

  it('are refused with a reason, and none is stored', async () => {
    const refused = async (result: string, expected?: string) =>
      expect(await link(expected)).toEqual({ status: '0', message: 'NOTOK', result: expect.stringContaining(result) })
    await refused(`The proxy contract at ${PROXY} does not seem to be verified`)
    await verify(PROXY)
    await refused(`The implementation contract at ${IMPLEMENTATION} does not seem to be verified`)
    await verify(IMPLEMENTATION)
    await refused(`is ${IMPLEMENTATION}, and not ${NEXT} as expected`, NEXT)
    storage = {}
    await refused('implementation contract was unfortunately not detected')
    storage = { [SLOTS.beacon]: word(NEXT) }
    await refused('implementation contract was unfortunately not detected')
    storage = { [SLOTS.erc1967]: `0x01${'00'.repeat(31)}` }
    await refused('implementation contract was unfortunately not detected')
    expect(await sourceOf()).toEqual(['0', ''])
    expect(await post({ action: 'checkproxyverification' })).toMatchObject({ result: 'Error! Missing guid' })
    for (const guid of ['x', `${PROXY.slice(2)}${IMPLEMENTATION.slice(2)}`])
      expect((await check(guid)).result).toBe('Unknown GUID')
  })

  it('count no longer when the proxy is verified anew', async () => {
    await verify(PROXY)
    await verify(IMPLEMENTATION)
    const { result: guid } = await link()
    await databases.services.deleteFrom('verified_contract').execute()
    await verify(PROXY, Date.now() + 1_000)
    expect(await sourceOf()).toEqual(['0', ''])
    expect((await check(guid)).result).toBe('Unknown GUID')
  })
})
