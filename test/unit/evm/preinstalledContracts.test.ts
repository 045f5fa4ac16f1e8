import {
  concat,
  decodeFunctionResult,
  domainSeparator,
  encodeErrorResult,
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
import { PREINSTALLS } from '../../../src/chain/genesis/createGenesis.ts'
import { BEACON_ROOTS, HISTORY_STORAGE } from '../../../src/evm/systemCalls.ts'
import { bytesToBigInt, bytesToHex } from '../../../src/primitives/bytes.ts'
import { CHAIN_ID, createMemoryChain, TOKEN } from '../../support/precompiles/memoryChain.ts'
import { nativeTokenAbi } from '../../support/precompiles/nativeTokenAbi.ts'

const COIN = 10n ** 18n
const ALICE: Hex = '0xa11ce00000000000000000000000000000000001'
const BOB: Hex = '0xb0b0000000000000000000000000000000000002'
const SYSTEM: Hex = '0xfffffffffffffffffffffffffffffffffffffffe'
const DEPLOYER: Hex = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const MULTICALL3: Hex = '0xca11bde05977b3631167028862be2a173976ca11'
const PERMIT2: Hex = '0x000000000022d473030f116ddee9f6b43ac78ba3'

const CREATE_X: Hex = '0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed'
const ENTRY_POINTS = {
  '0.6': '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789',
  '0.7': '0x0000000071727de22e5e9d8baf0edac6f37da032',
  '0.8': '0x4337084d9e255ff0702461cf8895ce9e3b5ff108',
} as const

const chain = (extra: Record<Hex, bigint> = {}) => createMemoryChain({ balances: { [ALICE]: 100n * COIN, ...extra } })

/** As block explorers and deployment records of other chains name them. */
const CODE_HASHES: Readonly<Record<string, Hex>> = {
  [bytesToHex(BEACON_ROOTS)]: '0xf57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c',
  [bytesToHex(HISTORY_STORAGE)]: '0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d',
  [DEPLOYER]: '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989',
  [MULTICALL3]: '0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891',
  [PERMIT2]: '0xc67d1657868aa5146eaf24fb879fb1fdec3d2d493b3683a61c9c2f4fb2851131',
  [CREATE_X]: '0xbd8a7ea8cfca7b4e5f5041d7d4b17bc317c5ce42cfbc42066a00cf26b43eb53f',
  '0x1820a4b7618bde71dce8cdc73aab6c95905fad24': '0xf0aa940bb32e37c5f7268b53acc48c7cdd148cd0fc196f30faa00a4d66c0443a',
  '0x914d7fec6aac8cd542e72bca78b30650d45643d7': '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989',
  [ENTRY_POINTS['0.6']]: '0xc93c806e738300b5357ecdc2e971d6438d34d8e4e17b99b758b1f9cac91c8e70',
  '0x7fc98430eaedbb6070b35b39d798725049088348': '0xae818091eaaf1b6175ee41472359a689f3823d0908a41e2e5c4ad508f2fc04a3',
  [ENTRY_POINTS['0.7']]: '0x8db5ff695839d655407cc8490bb7a5d82337a86a6b39c3f0258aa6c3b582fc58',
  '0xefc2c1444ebcc4db75e7613d20c6a62ff67a167c': '0x283c9d14378f5f4c4e24045b87d621d48443fa5b4af7dd7180a599b3756a7689',
  [ENTRY_POINTS['0.8']]: '0x44e632a24c6f2600cbd5b5b8b4c2d372359112c8b5774297f5fd0a9e64f11f86',
  '0x449ed7c3e6fee6a97311d4b55475df59c44add33': '0xc69a1b3a000d570bc86eb096ee63a9014a17951ad616d720882ec61432b00fcf',
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

describe('CreateX', () => {
  it('creates where it says', async () => {
    const abi = parseAbi([
      'function deployCreate2(bytes32 salt, bytes initCode) payable returns (address newContract)',
      'function computeCreate2Address(bytes32 salt, bytes32 initCodeHash) view returns (address computedAddress)',
    ])
    const evm = chain()
    // The first 20 bytes are another sender's, so that the salt is only hashed.
    const salt = keccak256('0x02')
    const initCode: Hex = '0x60015ff3'
    const data = encodeFunctionData({ abi, functionName: 'deployCreate2', args: [salt, initCode] })
    const { status, output } = await evm.send({ from: ALICE, to: CREATE_X, data })
    expect(status).toBe('success')
    const created = decodeFunctionResult({ abi, functionName: 'deployCreate2', data: bytesToHex(output) })
    expect(evm.code(created.toLowerCase() as Hex)).toBe('0x00')
    const args = [keccak256(salt), keccak256(initCode)] as const
    const compute = encodeFunctionData({ abi, functionName: 'computeCreate2Address', args })
    const computed = await evm.call({ from: ALICE, to: CREATE_X, data: compute })
    expect(
      decodeFunctionResult({ abi, functionName: 'computeCreate2Address', data: bytesToHex(computed.output) }),
    ).toBe(created)
  })
})

describe('EntryPoint', () => {
  const abi = parseAbi([
    'struct PackedUserOperation { address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees; bytes paymasterAndData; bytes signature; }',
    'function handleOps(PackedUserOperation[] ops, address beneficiary)',
    'function depositTo(address account) payable',
    'function balanceOf(address account) view returns (uint256)',
    'function getSenderAddress(bytes initCode)',
    'error SenderAddressResult(address sender)',
    'function getDomainSeparatorV4() view returns (bytes32)',
  ])

  it.each(['0.6', '0.7', '0.8'] as const)(
    '%s keeps deposits, and creates accounts by its SenderCreator',
    async (version) => {
      const evm = chain()
      const to = ENTRY_POINTS[version]
      const deposit = encodeFunctionData({ abi, functionName: 'depositTo', args: [BOB] })
      expect((await evm.send({ from: ALICE, to, data: deposit, value: 5n })).status).toBe('success')
      const query = encodeFunctionData({ abi, functionName: 'balanceOf', args: [BOB] })
      expect(bytesToBigInt((await evm.call({ from: ALICE, to, data: query })).output)).toBe(5n)
      // CREATE_X as a factory of a contract with one byte of code
      const salt = keccak256('0x03')
      const create = parseAbi(['function deployCreate2(bytes32 salt, bytes initCode) payable returns (address)'])
      const factoryCall = encodeFunctionData({ abi: create, functionName: 'deployCreate2', args: [salt, '0x60015ff3'] })
      const args = [concat([CREATE_X, factoryCall])] as const
      const find = encodeFunctionData({ abi, functionName: 'getSenderAddress', args })
      const { status, output } = await evm.call({ from: ALICE, to, data: find })
      const address = getContractAddress({
        opcode: 'CREATE2',
        from: CREATE_X,
        salt: keccak256(salt),
        bytecode: '0x60015ff3',
      })
      expect([status, bytesToHex(output)]).toEqual([
        'revert',
        encodeErrorResult({ abi, errorName: 'SenderAddressResult', args: [address] }),
      ])
    },
  )

  it.each(['0.7', '0.8'] as const)(
    '%s handles operations, again and again, though no constructor has run',
    async (version) => {
      const evm = chain()
      const data = encodeFunctionData({ abi, functionName: 'handleOps', args: [[], BOB] })
      for (let i = 0; i < 2; i++) {
        expect((await evm.send({ from: ALICE, to: ENTRY_POINTS[version], data })).status).toBe('success')
      }
    },
  )

  it('0.8 has the domain separator of this chain', async () => {
    const data = encodeFunctionData({ abi, functionName: 'getDomainSeparatorV4' })
    const { output } = await chain().call({ from: ALICE, to: ENTRY_POINTS['0.8'], data })
    const domain = {
      name: 'ERC4337',
      version: '1',
      chainId: Number(CHAIN_ID),
      verifyingContract: ENTRY_POINTS['0.8'],
    }
    expect(bytesToHex(output)).toBe(domainSeparator({ domain }))
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
