import {
  concat,
  decodeFunctionResult,
  domainSeparator,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  hashTypedData,
  keccak256,
  maxUint160,
  pad,
  parseAbi,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { PREINSTALLS } from '../../../src/chain/createGenesis.ts'
import { BEACON_ROOTS, HISTORY_STORAGE } from '../../../src/evm/systemCalls.ts'
import { bytesToBigInt, bytesToHex } from '../../../src/primitives/bytes.ts'
import { CHAIN_ID, createMemoryChain, TOKEN } from '../precompiles/memoryChain.ts'
import { nativeTokenAbi } from '../precompiles/nativeTokenAbi.ts'

const COIN = 10n ** 18n
const ALICE: Hex = '0xa11ce00000000000000000000000000000000001'
const BOB: Hex = '0xb0b0000000000000000000000000000000000002'
const SYSTEM: Hex = '0xfffffffffffffffffffffffffffffffffffffffe'
const DEPLOYER: Hex = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const MULTICALL3: Hex = '0xca11bde05977b3631167028862be2a173976ca11'
const PERMIT2: Hex = '0x000000000022d473030f116ddee9f6b43ac78ba3'

const chain = (extra: Record<Hex, bigint> = {}) => createMemoryChain({ balances: { [ALICE]: 100n * COIN, ...extra } })

/** As block explorers and deployment records of other chains name them. */
const CODE_HASHES: Readonly<Record<string, Hex>> = {
  [bytesToHex(BEACON_ROOTS)]: '0xf57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c',
  [bytesToHex(HISTORY_STORAGE)]: '0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d',
  [DEPLOYER]: '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989',
  [MULTICALL3]: '0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891',
  [PERMIT2]: '0xc67d1657868aa5146eaf24fb879fb1fdec3d2d493b3683a61c9c2f4fb2851131',
}

it('each preinstalled contract has the code hash that other chains publish for it, and nonce 1', () => {
  const evm = chain()
  const installed = PREINSTALLS.map(({ address }) => address.toLowerCase() as Hex)
  const hashes = Object.fromEntries(installed.map((address) => [address, keccak256(evm.code(address))]))
  expect(hashes).toEqual(CODE_HASHES)
  expect(installed.map((address) => evm.nonce(address))).toEqual(installed.map(() => 1n))
})

describe('system contracts', () => {
  it.each([
    ['EIP-2935', HISTORY_STORAGE, 0n],
    ['EIP-4788', BEACON_ROOTS, 1_700_000_000n],
  ])('%s answers what the system address stored', async (_, contract, key) => {
    const evm = chain({ [SYSTEM]: COIN })
    const to = bytesToHex(contract)
    const stored = keccak256(toHex('a hash'))
    expect((await evm.send({ from: SYSTEM, to, data: stored })).status).toBe('success')
    const read = await evm.call({ from: ALICE, to, data: pad(toHex(key)) })
    expect([read.status, bytesToHex(read.output)]).toEqual(['success', stored])
    expect((await evm.call({ from: ALICE, to, data: pad(toHex(key + 1n)) })).status).toBe('revert')
  })
})

describe('deterministic deployer', () => {
  it('creates where CREATE2 says', async () => {
    const evm = chain()
    const salt = keccak256('0x01')
    // returns one byte of code, STOP
    const bytecode: Hex = '0x60015ff3'
    const outcome = await evm.send({ from: ALICE, to: DEPLOYER, data: concat([salt, bytecode]) })
    const expected = getContractAddress({ opcode: 'CREATE2', from: DEPLOYER, salt, bytecode }).toLowerCase()
    expect([outcome.status, bytesToHex(outcome.output)]).toEqual(['success', expected])
    expect(evm.code(expected as Hex)).toBe('0x00')
    expect((await evm.call({ from: ALICE, to: DEPLOYER, data: concat([salt, bytecode]) })).status).toBe('revert')
  })
})

describe('Multicall3', () => {
  const abi = parseAbi([
    'struct Call3 { address target; bool allowFailure; bytes callData; }',
    'struct Result { bool success; bytes returnData; }',
    'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
    'function getEthBalance(address account) view returns (uint256)',
    'function getChainId() view returns (uint256)',
  ])

  it('aggregates calls on itself and on the native token, failures included', async () => {
    const call = (target: Hex, callData: Hex) => ({ target, allowFailure: true, callData })
    const calls = [
      call(MULTICALL3, encodeFunctionData({ abi, functionName: 'getEthBalance', args: [ALICE] })),
      call(TOKEN, encodeFunctionData({ abi: nativeTokenAbi, functionName: 'balanceOf', args: [ALICE] })),
      call(MULTICALL3, encodeFunctionData({ abi, functionName: 'getChainId' })),
      call(TOKEN, encodeFunctionData({ abi: nativeTokenAbi, functionName: 'transfer', args: [BOB, 1n] })),
    ]
    const data = encodeFunctionData({ abi, functionName: 'aggregate3', args: [calls] })
    const { status, output } = await chain().call({ from: BOB, to: MULTICALL3, data })
    expect(status).toBe('success')
    const results = decodeFunctionResult({ abi, functionName: 'aggregate3', data: bytesToHex(output) })
    expect(results.slice(0, 3)).toEqual(
      [100n * COIN, 100n * COIN, CHAIN_ID].map((value) => ({ success: true, returnData: pad(toHex(value)) })),
    )
    expect(results[3]?.success).toBe(false)
  })
})

describe('Permit2', () => {
  const abi = parseAbi([
    'struct PermitDetails { address token; uint160 amount; uint48 expiration; uint48 nonce; }',
    'struct PermitSingle { PermitDetails details; address spender; uint256 sigDeadline; }',
    'function DOMAIN_SEPARATOR() view returns (bytes32)',
    'function permit(address owner, PermitSingle permitSingle, bytes signature)',
    'function transferFrom(address from, address to, uint160 amount, address token)',
  ])
  const domain = (chainId: bigint) => ({ name: 'Permit2', chainId: Number(chainId), verifyingContract: PERMIT2 })
  const owner = privateKeyToAccount(keccak256(toHex('an owner')))
  const from = owner.address.toLowerCase() as Hex
  const types = {
    PermitDetails: [
      { name: 'token', type: 'address' },
      { name: 'amount', type: 'uint160' },
      { name: 'expiration', type: 'uint48' },
      { name: 'nonce', type: 'uint48' },
    ],
    PermitSingle: [
      { name: 'details', type: 'PermitDetails' },
      { name: 'spender', type: 'address' },
      { name: 'sigDeadline', type: 'uint256' },
    ],
  } as const
  const message = {
    details: { token: TOKEN, amount: maxUint160, expiration: 2_000_000_000, nonce: 0 },
    spender: BOB,
    sigDeadline: 2_000_000_000n,
  }

  it('has the domain separator of this chain, not of the one it was compiled on', async () => {
    const data = encodeFunctionData({ abi, functionName: 'DOMAIN_SEPARATOR' })
    const { output } = await chain().call({ from: ALICE, to: PERMIT2, data })
    expect(bytesToHex(output)).toBe(domainSeparator({ domain: domain(CHAIN_ID) }))
  })

  it.each([
    ['this chain', CHAIN_ID, 'success'],
    ['Ethereum', 1n, 'revert'],
  ] as const)('a permit signed for %s: %s', async (_, chainId, status) => {
    const evm = chain({ [from]: 10n * COIN, [BOB]: COIN })
    const approve = encodeFunctionData({ abi: nativeTokenAbi, functionName: 'approve', args: [PERMIT2, 10n * COIN] })
    await evm.send({ from, to: TOKEN, data: approve })
    const typedData = { domain: domain(chainId), types, primaryType: 'PermitSingle', message } as const
    const signature = await owner.sign({ hash: hashTypedData(typedData) })
    const permit = encodeFunctionData({ abi, functionName: 'permit', args: [from, message, signature] })
    expect((await evm.send({ from: BOB, to: PERMIT2, data: permit })).status).toBe(status)
    const spend = encodeFunctionData({ abi, functionName: 'transferFrom', args: [from, ALICE, 3n * COIN, TOKEN] })
    expect((await evm.send({ from: BOB, to: PERMIT2, data: spend })).status).toBe(status)
    expect(evm.balance(ALICE)).toBe(status === 'success' ? 103n * COIN : 100n * COIN)
    const query = encodeFunctionData({ abi: nativeTokenAbi, functionName: 'allowance', args: [from, PERMIT2] })
    const { output } = await evm.call({ from: ALICE, to: TOKEN, data: query })
    expect(bytesToBigInt(output)).toBe(status === 'success' ? 7n * COIN : 10n * COIN)
  })
})
