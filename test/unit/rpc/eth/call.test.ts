import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { call } from '../../../../src/rpc/eth/call.ts'
import { createAccessList } from '../../../../src/rpc/eth/createAccessList.ts'
import { estimateGas } from '../../../../src/rpc/eth/estimateGas.ts'
import {
  alice,
  broken,
  constant,
  counter,
  createContractNode,
  echo,
  environment,
  forwarder,
  hexOf,
  loop,
  reverter,
  word,
} from '../../../support/rpc/contractNode.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { ECHO } from '../../../support/rpc/testContracts.ts'

const sha256 = `0x${'00'.repeat(19)}02`

let node: MemoryNode
beforeAll(async () => {
  node = await createContractNode()
})

/** BASEFEE, GASPRICE, NUMBER, TIMESTAMP, COINBASE, PREVRANDAO as a call sees them. */
async function seen(request: object, block?: unknown, state?: unknown, overrides?: unknown): Promise<bigint[]> {
  const output = (await invoke(
    call,
    node.context(),
    { to: environment, ...request },
    block,
    state,
    overrides,
  )) as string
  return (output.slice(2).match(/.{64}/g) ?? []).map((part) => BigInt(`0x${part}`))
}

describe('eth_call', () => {
  test('answers with what the contract returns', async () => {
    expect(await invoke(call, node.context(), { to: echo, data: '0x0102' })).toBe('0x0102')
    expect(await invoke(call, node.context(), { to: hexOf('99'), input: '0x0102' }, 'pending')).toBe('0x')
    expect(await invoke(call, node.context(), { to: constant })).toBe('0x2a')
  })

  test('creates without a recipient', async () => {
    expect(await invoke(call, node.context(), { data: '0x602a5f5360015ff3' })).toBe('0x2a')
  })

  test('leaves no trace and runs on the state of its block', async () => {
    const context = node.context()
    const read = { to: environment }
    await invoke(call, context, { to: counter })
    expect(context.view.stateAt(2).getStorage(hexToBytes(counter), new Uint8Array(32))).toEqual(Uint8Array.of(1))
    expect(await invoke(call, context, read, '0x0')).not.toBe(await invoke(call, context, read, '0x1'))
  })

  test('sees its block: the head for latest, the next one for pending', async () => {
    const [head, first] = [node.blocks[2]!.header, node.blocks[1]!.header]
    expect(await seen({})).toEqual([
      0n,
      0n,
      2n,
      BigInt(head.timestamp),
      BigInt(hexOf('bb')),
      BigInt(bytesToHex(head.mixHash)),
    ])
    expect((await seen({}, '0x1')).slice(2, 5)).toEqual([1n, BigInt(first.timestamp), BigInt(hexOf('aa'))])
    expect((await seen({}, 'pending'))[2]).toBe(3n)
  })

  test('sees base fees when it pays, and the zero address sends by default', async () => {
    const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x5' }
    expect((await seen({ ...fees, from: alice.hex, gas: '0xf4240' })).slice(0, 2)).toEqual([10n ** 9n, 10n ** 9n + 5n])
    expect(await invokeError(call, node.context(), { to: environment, ...fees, gas: '0xf4240' })).toEqual({
      code: -32000,
      message:
        'err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 have 0 want 2000000000000000 (supplied gas 1000000)',
    })
  })

  test('block overrides', async () => {
    const overrides = {
      number: '0x64',
      time: '0x65',
      feeRecipient: hexOf('dd'),
      prevRandao: `0x${word(7)}`,
      baseFeePerGas: '0x5',
    }
    expect(await seen({ from: alice.hex, gasPrice: '0x6', gas: '0xf4240' }, 'latest', {}, overrides)).toEqual([
      5n,
      6n,
      100n,
      101n,
      BigInt(hexOf('dd')),
      7n,
    ])
    expect(await invokeError(call, node.context(), { to: echo }, 'latest', {}, { withdrawals: [] })).toEqual({
      code: -32000,
      message: 'block override "withdrawals" is not supported for this RPC method',
    })
  })

  test('state overrides', async () => {
    const context = node.context()
    const someone = hexOf('99')
    const run = (state: object, to = someone, more = {}) =>
      invoke(call, context, { to, data: '0x01', ...more }, 'latest', state)
    expect(await run({ [someone]: { code: bytesToHex(ECHO) } })).toBe('0x01')
    // SLOAD(0) returned
    const load = '0x5f545f5260205ff3'
    expect(await run({ [counter]: { code: load } }, counter)).toBe(`0x${word(1)}`)
    expect(await run({ [counter]: { code: load, stateDiff: { [`0x${word(0)}`]: `0x${word(9)}` } } }, counter)).toBe(
      `0x${word(9)}`,
    )
    expect(await run({ [counter]: { code: load, state: { [`0x${word(1)}`]: `0x${word(9)}` } } }, counter)).toBe(
      `0x${word(0)}`,
    )
    expect(await run({ [someone]: { balance: '0x64' } }, echo, { from: someone, value: '0x64' })).toBe('0x01')
    expect(await run({ [constant]: { movePrecompileToAddress: someone } })).toBe('0x2a')
    const identity = '0x0000000000000000000000000000000000000004'
    expect(await run({ [constant]: { movePrecompileToAddress: identity } }, identity)).toBe('0x2a')
    expect(await run({ [constant]: { code: bytesToHex(ECHO) } }, constant)).toBe('0x01')
    expect(await run({ [constant]: { code: bytesToHex(ECHO), stateDiff: {} } }, constant)).toBe('0x01')
    // What does not replace its code leaves a precompile of the chain as it is.
    expect(await run({ [constant]: {} }, constant)).toBe('0x2a')
    expect(await run({ [constant]: { balance: '0x64', nonce: '0x1' } }, constant)).toBe('0x2a')
  })

  test('overrides of Ethereum’s precompiles: moved, replaced, or with a balance only they are none any more', async () => {
    const context = node.context()
    const run = (state: object, to: string) => invoke(call, context, { to, data: '0x01' }, 'latest', state)
    const hashed = `0x${createHash('sha256').update(Uint8Array.of(1)).digest('hex')}`
    const moved = { [sha256]: { movePrecompileToAddress: hexOf('99') } }
    expect(await run({}, sha256)).toBe(hashed)
    expect(await run(moved, hexOf('99'))).toBe(hashed)
    expect(await run(moved, sha256)).toBe('0x')
    expect(await run({ [sha256]: { code: bytesToHex(ECHO) } }, sha256)).toBe('0x01')
    expect(await run({ [sha256]: { balance: '0x1' } }, sha256)).toBe('0x')
  })

  test.each([
    [
      { [counter]: { state: {}, stateDiff: {} } },
      "account 0xc1C1c1C1c1C1C1C1C1C1c1c1C1C1c1C1C1C1c1C1 has both 'state' and 'stateDiff'",
    ],
    [
      { [counter]: { movePrecompileToAddress: echo } },
      'account 0xc1C1c1C1c1C1C1C1C1C1c1c1C1C1c1C1C1C1c1C1 is not a precompile',
    ],
    [
      { '0x00000000000000000000000000006e6174697665': { stateDiff: {} } },
      'account 0x00000000000000000000000000006e6174697665 is reserved: its storage is the state of the native modules',
    ],
    ...['state', 'stateDiff'].map((field): [object, string] => [
      { [constant]: { [field]: {} } },
      `account ${toChecksumAddress(hexToBytes(constant))} is a precompile of this chain without storage: override its code too, or leave its state out`,
    ]),
    [
      { [sha256]: { movePrecompileToAddress: echo }, [echo]: { balance: '0x1' } },
      `account ${echo} is already overridden`,
    ],
  ])('state override %j is refused', async (state, message) => {
    const error = await invokeError(call, node.context(), { to: echo }, 'latest', state)
    expect(error).toMatchObject({ code: -32000 })
    expect((error as { message: string }).message.toLowerCase()).toBe(message.toLowerCase())
  })

  test.each([
    ['0x', 'execution reverted'],
    ['0x12345678', 'execution reverted'],
    [
      `0x08c379a0${word(32)}${word(5)}${Buffer.from('nope!').toString('hex').padEnd(64, '0')}`,
      'execution reverted: nope!',
    ],
    [`0x08c379a0${word(32)}${word(50)}${word(0)}`, 'execution reverted'],
    [`0x4e487b71${word(0x11)}`, 'execution reverted: arithmetic underflow or overflow'],
    [`0x4e487b71${word(0x99)}`, 'execution reverted: unknown panic code: 0x99'],
  ])('revert data %s', async (data, message) => {
    const error = { code: 3, message, data }
    expect(await invokeError(call, node.context(), { to: reverter, data })).toEqual(error)
    expect(await invokeError(estimateGas, node.context(), { to: reverter, data })).toEqual(error)
  })

  test.each([
    [{ to: broken }, 'invalid opcode: INVALID'],
    [{ to: loop, gas: '0x186a0' }, 'out of gas'],
    [{ to: echo, gas: '0x5207' }, 'err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)'],
    [{ to: echo, chainId: '0x1' }, "chainId does not match node's (have=1, want=7628)"],
    [
      { to: echo, gasPrice: '0x1', maxFeePerGas: '0x1' },
      'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
    ],
    [
      { to: echo, maxFeePerGas: '0x1', gas: '0x5208', from: alice.hex },
      `err: max fee per gas less than block base fee: address ${'%'}, maxFeePerGas: 1, baseFee: 1000000000 (supplied gas 21000)`,
    ],
  ])('%j fails', async (request, message) => {
    const error = (await invokeError(call, node.context(), request)) as { code: number; message: string }
    expect(error.code).toBe(-32000)
    expect(error.message.replace(/0x[0-9a-fA-F]{40}/, '%')).toBe(message)
  })

  test('stops at its deadline', async () => {
    const context = node.context({ limits: { ...TEST_LIMITS, callTimeoutMs: 2 } })
    expect(await invokeError(call, context, { to: loop })).toEqual({
      code: -32000,
      message: 'execution aborted (timeout = 0.002s)',
    })
  })
})

describe('eth_estimateGas', () => {
  /** Whether the transaction succeeds with this gas limit. */
  const succeedsWith = async (request: object, gas: bigint): Promise<boolean> => {
    const answer = await invoke(call, node.context(), { ...request, gas: `0x${gas.toString(16)}` }).catch(
      () => undefined,
    )
    return answer !== undefined
  }

  test('a transfer needs 21000', async () => {
    expect(await invoke(estimateGas, node.context(), { to: hexOf('99'), from: alice.hex, value: '0x1' })).toBe('0x5208')
    expect(await invoke(estimateGas, node.context(), { to: hexOf('99') }, 'latest')).toBe('0x5208')
  })

  test.each([
    { to: counter },
    { to: echo, data: `0x${'01'.repeat(1000)}` },
    { data: '0x602a5f5360015ff3' },
    { to: forwarder, data: `0x${word(BigInt(counter))}` },
    { to: echo, accessList: [{ address: counter, storageKeys: [`0x${word(0)}`] }] },
  ])('%j: enough, and not 1.6 %% too much', async (request) => {
    const gas = BigInt((await invoke(estimateGas, node.context(), { from: alice.hex, ...request })) as string)
    expect(await succeedsWith(request, gas)).toBe(true)
    expect(await succeedsWith(request, (gas * 984n) / 1000n)).toBe(false)
  })

  test('sees state overrides and funds', async () => {
    const request = { from: hexOf('99'), to: counter, gasPrice: '0x3b9aca00', value: '0x1' }
    expect(await invokeError(estimateGas, node.context(), request)).toEqual({
      code: -32000,
      message: 'insufficient funds for transfer',
    })
    const rich = { [hexOf('99')]: { balance: '0xde0b6b3a7640000' } }
    expect(BigInt((await invoke(estimateGas, node.context(), request, 'latest', rich)) as string)).toBeGreaterThan(
      21_000n,
    )
    const poor = { [hexOf('99')]: { balance: '0x9184e72a001' } }
    expect(await invokeError(estimateGas, node.context(), request, 'latest', poor)).toEqual({
      code: -32000,
      message: 'gas required exceeds allowance (10000)',
    })
  })

  test('a transfer whose gas the sender cannot pay', async () => {
    const request = { from: hexOf('99'), to: hexOf('98'), gasPrice: '0x3b9aca00' }
    const poor = { [hexOf('99')]: { balance: '0x9184e72a000' } }
    expect(await invokeError(estimateGas, node.context(), request, 'latest', poor)).toEqual({
      code: -32000,
      message: 'gas required exceeds allowance (10000)',
    })
  })

  test('a sender without funds that offers a price', async () => {
    const request = { from: hexOf('99'), to: hexOf('98'), gasPrice: '0x3b9aca00' }
    expect(await invokeError(estimateGas, node.context(), request)).toEqual({
      code: -32000,
      message: 'insufficient funds for transfer',
    })
  })

  test('a failure that more gas would not mend, and one that it would', async () => {
    expect(await invokeError(estimateGas, node.context(), { to: broken })).toEqual({
      code: -32000,
      message: 'invalid opcode: INVALID',
    })
    expect(await invokeError(estimateGas, node.context(), { to: loop, gas: '0x186a0' })).toEqual({
      code: -32000,
      message: 'gas required exceeds allowance (100000)',
    })
  })

  test('never exceeds 2^24 (EIP-7825)', async () => {
    const burn = hexOf('99')
    // uses all but a little of 2^24 gas: fails with the highest limit that a transaction may have
    const state = { [burn]: { code: '0x5b620f42405a1060005700' } }
    const error = await invoke(estimateGas, node.context(), { to: burn, gas: '0x2faf080' }, 'latest', state)
    expect(BigInt(error as string)).toBeLessThanOrEqual(2n ** 24n)
  })
})

describe('eth_createAccessList', () => {
  test('lists slots of the recipient and accounts that are called', async () => {
    expect(await invoke(createAccessList, node.context(), { from: alice.hex, to: counter })).toMatchObject({
      accessList: [{ address: counter, storageKeys: [`0x${word(0)}`] }],
    })
    const forwarded = (await invoke(createAccessList, node.context(), {
      to: forwarder,
      data: `0x${word(BigInt(counter))}`,
    })) as { accessList: object[]; gasUsed: string }
    expect(forwarded.accessList).toEqual([{ address: counter, storageKeys: [`0x${word(0)}`] }])
    expect(BigInt(forwarded.gasUsed)).toBeGreaterThan(21_000n)
  })

  test('nothing for a transfer or a precompile', async () => {
    expect(await invoke(createAccessList, node.context(), { to: hexOf('99') })).toEqual({
      accessList: [],
      gasUsed: '0x5208',
    })
    const data = `0x${word(1)}`
    expect(await invoke(createAccessList, node.context(), { to: forwarder, data })).toMatchObject({ accessList: [] })
  })

  test('authorizations that no gas pays for are not looked at', async () => {
    const authorization = { chainId: '0x0', address: counter, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }
    const request = { to: counter, gas: '0x186a0', authorizationList: Array(5).fill(authorization) }
    expect(await invokeError(createAccessList, node.context(), request)).toEqual({
      code: -32000,
      message: 'insufficient gas to process all authorizations',
    })
  })

  test('a failing run has its list and its error', async () => {
    expect(await invoke(createAccessList, node.context(), { to: reverter })).toMatchObject({
      accessList: [],
      error: 'execution reverted',
    })
  })
})
