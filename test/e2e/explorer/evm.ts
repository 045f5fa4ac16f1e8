import type { Page } from 'playwright-core'
import { type Abi, createWalletClient, encodeAbiParameters, encodeFunctionData, getAddress, type Hex, http } from 'viem'
import { expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import type { Movement } from '../../../explorer/accounts/shapes.ts'
import type { Call, Contract, InternalCall } from '../../../explorer/contracts/shapes.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, ERC20_ABI, freshAddress, GWEI, NATIVE_TOKEN, viemChain } from '../devChain.ts'
import { mined, rpc } from '../rpc.ts'

/* What contracts do to each other: filled into the chain of index.test.ts, and looked at in its explorer. */

const own = ACCOUNTS[5]!
const PUPPET = compileContract('test/Puppet.sol', 'Puppet') as unknown as { abi: Abi; bytecode: Hex }
/** of the genesis: creates by CREATE2 what is behind the first 32 bytes of its input */
const CREATE2_PROXY = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const SELF = '0x0000000000000000000000000000000000005e1f'
const LAST_CREATED = '0x000000000000000000000000000000000c4Ea7ED'
const KINDS = { call: 0, staticCall: 1, delegateCall: 2, create: 3, selfDestruct: 4, revert: 5 } as const

interface Step {
  readonly kind: keyof typeof KINDS
  readonly target?: Hex
  readonly value?: bigint
  readonly data?: Hex
  readonly mustSucceed?: boolean
}

const toSteps = (steps: readonly Step[]) =>
  steps.map(({ kind, target = freshAddress(), value = 0n, data = '0x', mustSucceed = true }) => ({
    kind: KINDS[kind],
    target,
    value,
    gas: 1_000_000n,
    data,
    mustSucceed,
  }))
const run = (...steps: readonly Step[]): Hex =>
  encodeFunctionData({ abi: PUPPET.abi, functionName: 'run', args: [toSteps(steps)] })

/** Init code of a puppet that does these steps while it is created. */
function initCode(...steps: readonly Step[]): Hex {
  const { inputs } = PUPPET.abi.find(({ type }) => type === 'constructor') as unknown as { inputs: [] }
  return `${PUPPET.bytecode}${encodeAbiParameters(inputs, [toSteps(steps)] as never).slice(2)}`
}

export interface FilledEvm {
  readonly puppet: Hex
  /** created by the puppet with CREATE; destroyed itself later, which gave its coins away and no more */
  readonly child: Hex
  readonly creation: Hex
  readonly create2: Hex
  readonly shortLived: Hex
  /** a call that failed, a delegated one and one of a precompile */
  readonly mixed: Hex
  readonly destruction: Hex
  readonly beneficiary: Hex
  readonly paid: Hex
}

/** Transactions of a contract that creates, calls, delegates, fails and destroys. */
export async function fillEvm(url: string): Promise<FilledEvm> {
  const writer = createWalletClient({ chain: viemChain(url), transport: http(url), account: own })
  let nonce = 0
  const send = async (to: Hex | undefined, data: Hex, value = 0n) => {
    const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI, gas: 5_000_000n, nonce: nonce++ }
    const hash = await writer.sendTransaction({ ...fees, ...(to === undefined ? {} : { to }), data, value })
    const receipt = await mined(url, hash)
    expect(receipt.status).toBe('0x1')
    return { hash, receipt }
  }
  // Its coins are burnt, which the balance that the index has for it tells.
  await send(undefined, initCode({ kind: 'selfDestruct', target: SELF }), 13n)
  const puppet = (await send(undefined, initCode(), 11n)).receipt.contractAddress!
  const creation = await send(
    puppet,
    run({ kind: 'create', value: 7n, data: initCode() }, { kind: 'call', target: LAST_CREATED, value: 5n }),
    100n,
  )
  const trace = await rpc<{ calls: { to: Hex }[] }>(url, 'debug_traceTransaction', creation.hash, {
    tracer: 'callTracer',
  })
  const child = trace.calls[0]!.to
  const create2 = await send(
    puppet,
    run({ kind: 'call', target: CREATE2_PROXY, data: `0x${'07'.repeat(32)}${initCode().slice(2)}` }),
  )
  const beneficiary = freshAddress()
  const shortLived = await send(
    puppet,
    run({ kind: 'create', value: 9n, data: initCode({ kind: 'selfDestruct', target: beneficiary }) }),
  )
  const paid = freshAddress()
  const payment = encodeFunctionData({ abi: ERC20_ABI, functionName: 'transfer', args: [paid, 3n] })
  const mixed = await send(
    puppet,
    run(
      {
        kind: 'call',
        target: child,
        value: 1n,
        data: run({ kind: 'call', target: beneficiary, value: 1n }, { kind: 'revert' }),
        mustSucceed: false,
      },
      { kind: 'delegateCall', target: child, data: run({ kind: 'call', target: beneficiary, value: 2n }) },
      { kind: 'call', target: NATIVE_TOKEN, data: payment },
    ),
    1n,
  )
  const destruction = await send(
    puppet,
    run({ kind: 'call', target: child, data: run({ kind: 'selfDestruct', target: beneficiary }) }),
  )
  return {
    puppet,
    child,
    creation: creation.hash,
    create2: create2.hash,
    shortLived: shortLived.hash,
    mixed: mixed.hash,
    destruction: destruction.hash,
    beneficiary,
    paid,
  }
}

/** What each account has more or less, by movements from one to another. */
function changesOf(
  movements: readonly { readonly from: string | null; readonly to: string | null; readonly amount: bigint }[],
): Readonly<Record<string, string>> {
  const sums = new Map<string, bigint>()
  const add = (account: string | null, amount: bigint) =>
    account !== null && sums.set(account, (sums.get(account) ?? 0n) + amount)
  for (const { from, to, amount } of movements) {
    add(from, -amount)
    add(to, amount)
  }
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0n).map(([account, sum]) => [account, String(sum)]))
}

/**
 * Declares the tests of what {@link fillEvm} did.
 * @param get asks the explorer's API for a path below its prefix
 */
export function testEvm(
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
  get: (path: string) => Promise<any>,
  chain: () => { readonly url: string; readonly filled: FilledEvm },
): void {
  const callsOf = async (hash: Hex): Promise<Call[]> => (await get(`transactions/${hash}/calls`)).items
  const shown = (calls: readonly (Call | InternalCall)[]) =>
    calls.map(({ depth, kind, value, isSuccessful }) => `${depth} ${kind} ${value}${isSuccessful ? '' : ' failed'}`)

  it('keeps the calls of a transaction as a tree', async () => {
    const { creation, create2, shortLived, mixed } = chain().filled
    expect(shown(await callsOf(creation))).toEqual(['0 call 100', '1 create 7', '1 call 5'])
    expect(shown(await callsOf(create2))).toEqual(['0 call 0', '1 call 0', '2 create2 0'])
    expect(shown(await callsOf(shortLived))).toEqual(['0 call 0', '1 create 9', '2 selfdestruct 9'])
    expect(shown(await callsOf(mixed))).toEqual([
      '0 call 1',
      '1 call 1 failed',
      '2 call 1 failed',
      '1 delegatecall 0',
      '2 call 2',
      '1 call 0',
    ])
    expect(await get(`transactions/${mixed}`)).toMatchObject({ calls: 6, trace: 'kept', logs: 1 })
    const first = await get(`transactions/${mixed}/calls?limit=4`)
    expect(first).toMatchObject({ next: 3, count: 6, state: 'kept' })
    expect((await get(`transactions/${mixed}/calls?after=3`)).items.map(({ ordinal }: Call) => ordinal)).toEqual([4, 5])
  })

  it('has the same value in calls as in the movements of coins', async () => {
    const { puppet, creation, create2, shortLived, mixed, destruction, paid } = chain().filled
    for (const hash of [creation, create2, shortLived, mixed, destruction]) {
      const { movements } = (await get(`transactions/${hash}`)) as { movements: Movement[] }
      const byCalls = (await callsOf(hash))
        .filter(({ isSuccessful }) => isSuccessful)
        .map(({ from, to, value }) => ({ from, to, amount: BigInt(value) }))
      // The precompile moved these, which is no call.
      if (hash === mixed) byCalls.push({ from: getAddress(puppet), to: getAddress(paid), amount: 3n })
      const byMovements = movements
        .filter(({ kind }) => kind !== 'fee')
        .map(({ from, to, amount }) => ({ from, to, amount: BigInt(amount) }))
      expect(changesOf(byMovements)).toEqual(changesOf(byCalls))
    }
  })

  it('lists what concerns an account, page by page, and nothing else', async () => {
    const { child, beneficiary, destruction } = chain().filled
    const list = async (address: Hex, query = '') => get(`addresses/${address}/internal-calls${query}`)
    const all = (await list(child)).items as InternalCall[]
    expect(shown(all)).toEqual(['2 selfdestruct 12', '2 call 1 failed', '1 call 1 failed', '1 call 5', '1 create 7'])
    expect(all[0]).toMatchObject({ transaction: destruction, to: getAddress(beneficiary) })
    const seen: InternalCall[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page: { items: InternalCall[]; next: string | null } = await list(child, `?limit=2${next}`)
      seen.push(...page.items)
      next = page.next === null ? null : `&before=${page.next}`
    }
    expect(seen).toEqual(all)
    expect(shown((await list(beneficiary)).items)).toEqual([
      '2 selfdestruct 12',
      '2 call 2',
      '2 call 1 failed',
      '2 selfdestruct 9',
    ])
  })

  it('knows who created a contract, how, and whether it destroyed itself', async () => {
    const { puppet, child, creation, create2, shortLived, destruction } = chain().filled
    expect(await get(`contracts/${puppet}`)).toMatchObject({ creator: own.address, way: 'transaction' })
    const code = await rpc<Hex>(chain().url, 'eth_getCode', child, 'latest')
    expect(await get(`contracts/${child}`)).toMatchObject({
      creator: getAddress(puppet),
      created: { transaction: creation },
      way: 'create',
      selfDestruct: { transaction: destruction },
      // EIP-6780
      isDeleted: false,
      code,
      codeSize: code.length / 2 - 1,
    })
    const { items } = (await get(`contracts?creator=${puppet}`)) as { items: Contract[] }
    expect(items).toMatchObject([
      { created: { transaction: shortLived }, selfDestruct: { transaction: shortLived }, isDeleted: true },
      { address: getAddress(child) },
    ])
    expect((await get(`contracts?creator=${CREATE2_PROXY}`)).items).toMatchObject([
      { way: 'create2', created: { transaction: create2 } },
    ])
    expect(await get(`contracts/${CREATE2_PROXY}`)).toMatchObject({ way: 'genesis', creator: null, created: null })
    expect(await get(`contracts/${NATIVE_TOKEN}`)).toMatchObject({ way: 'precompile' })
    expect((await get(`contracts/${own.address}`)).error).toMatch('no contract')
    expect(await get(`addresses/${child}`)).toMatchObject({ isContract: true })
    expect(await get(`addresses/${own.address}`)).toMatchObject({ isContract: false })
  })

  it('has the logs that the node has, of a transaction and of a contract', async () => {
    const { mixed } = chain().filled
    const receipt = await mined(chain().url, mixed)
    const logs = receipt.logs as { address: Hex; topics: Hex[]; data: Hex; logIndex: Hex }[]
    const expected = logs.map(({ address, topics, data, logIndex }) => ({
      address: getAddress(address),
      topics,
      data,
      index: Number(logIndex),
      transaction: mixed,
    }))
    expect((await get(`transactions/${mixed}/logs`)).items).toMatchObject(expected)
    const [{ address, topics }] = expected as [(typeof expected)[number]]
    const { items } = await get(`addresses/${address}/logs?topic=${topics[0]}`)
    expect(items[0]).toMatchObject(expected[0]!)
    const first = await get(`addresses/${address}/logs?limit=1`)
    expect((await get(`addresses/${address}/logs?limit=1&before=${first.next}`)).items[0]).toEqual(items[1])
    expect((await get(`addresses/${address}/logs?topic=0x${'00'.repeat(32)}`)).items).toEqual([])
  })

  it('asks the node what a transaction changed', async () => {
    const { puppet, creation, child } = chain().filled
    const { state, accounts } = await get(`transactions/${creation}/state-changes`)
    expect(state).toBe('kept')
    const of = (address: Hex) =>
      accounts.find((account: { address: string }) => account.address === getAddress(address))
    expect(of(puppet)).toMatchObject({ balance: { before: '11', after: '99' }, nonce: { before: 1, after: 2 } })
    expect(of(child)).toMatchObject({ balance: { before: '0', after: '12' }, codeSize: { before: 0 } })
    expect((await get(`transactions/0x${'12'.repeat(32)}/state-changes`)).error).toMatch('no such EVM transaction')
  })
}

/** Looks at the pages of all that, as a person would. */
export async function viewEvm(page: Page, url: string, { puppet, child, mixed, paid }: FilledEvm): Promise<void> {
  const main = page.locator('main')
  const choose = async (name: string) => {
    await main.getByRole('tab', { name }).click()
    return main.getByRole('tabpanel')
  }
  await page.goto(`${url}tx/${mixed}`)
  const logs = await choose('Logs')
  // By the ABI of the precompile, which emits what ERC-20 tokens emit.
  await logs.getByText('Transfer', { exact: true }).waitFor()
  await logs.getByRole('link', { name: getAddress(paid) }).waitFor()
  const calls = await choose('Internal calls')
  await calls.getByText('delegatecall').waitFor()
  await calls.getByText('execution reverted').waitFor()
  await calls.locator('summary', { hasText: 'transfer' }).click()
  await calls.getByRole('link', { name: getAddress(paid) }).waitFor()
  await main.getByRole('tab', { name: 'Internal calls' }).focus()
  await page.keyboard.press('ArrowRight')
  await main.getByRole('heading', { name: getAddress(puppet) }).waitFor()

  await page.getByRole('link', { name: 'Contracts', exact: true }).click()
  await main.getByText('CREATE2', { exact: true }).waitFor()
  await page.goto(`${url}address/${child}`)
  await choose('Internal calls')
  await main.getByRole('cell', { name: 'selfdestruct' }).waitFor()
  const contract = await choose('Contract')
  await contract.getByText('the contract sent its coins away').waitFor()
  await contract.getByRole('link', { name: getAddress(puppet) }).click()
  await main.getByText(toBech32(hexToBytes(puppet))).waitFor()
}
