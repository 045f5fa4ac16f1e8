import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exampleGenesis } from '../../../../scripts/exampleGenesis.ts'
import { addGenesisAccount } from '../../../../src/chain/genesis/addGenesisAccount.ts'
import {
  createGenesis,
  type GenesisInput,
  type GenesisValidatorInput,
} from '../../../../src/chain/genesis/createGenesis.ts'
import {
  canonicalJson,
  chainConfigOf,
  formatGenesis,
  genesisAllocations,
  genesisHash,
  genesisValidators,
  parseGenesis,
} from '../../../../src/chain/genesis/genesis.ts'
import { NATIVE_TOKEN_ADDRESS, STATIC_PRECOMPILES } from '../../../../src/chain/genesis/genesisConstants.ts'
import { moduleAddress, parseAddress, toBech32 } from '../../../../src/primitives/address.ts'
import { bytesToHex, equalBytes } from '../../../../src/primitives/bytes.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'

const WALLET = parseAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
const INPUT: GenesisInput = {
  genesisTimeMs: Date.UTC(2026, 5, 1, 12, 0, 0, 789),
  chainId: 'coin_76287-1',
  wallet: WALLET,
  selfDelegationAcoin: 10n ** 24n,
  consensusPublicKey: new Uint8Array(32).fill(7),
  moniker: 'one',
}

const SECOND: GenesisValidatorInput = {
  operator: moduleAddress('second'),
  selfDelegationAcoin: 3n * 10n ** 18n,
  consensusPublicKey: new Uint8Array(32).fill(9),
  moniker: 'two',
}

function balanceOf(genesis: ReturnType<typeof createGenesis>, address: Uint8Array): bigint | undefined {
  return genesisAllocations(genesis).find((account) => equalBytes(account.address, address))?.balanceAcoin
}

describe('createGenesis', () => {
  it('gives the wallet exactly 10^27 acoin and mints the self-delegation on top', () => {
    const genesis = createGenesis(INPUT)
    expect(balanceOf(genesis, WALLET)).toBe(0x33b2e3c9fd0803ce8000000n)
    expect(balanceOf(genesis, moduleAddress('bonded_tokens_pool'))).toBe(10n ** 24n)
    expect(genesis.app_state.bank.supply).toEqual([{ denom: 'acoin', amount: (10n ** 27n + 10n ** 24n).toString() }])
    expect(genesis.app_state.staking.params.max_validators).toBe(50)
  })

  it('makes the consensus key the sole bonded validator of the wallet', () => {
    const genesis = createGenesis(INPUT)
    expect(genesisValidators(genesis)).toMatchObject([{ publicKey: INPUT.consensusPublicKey, power: 1_000_000n }])
    const [validator] = genesis.app_state.staking.validators
    expect(validator?.operator_address).toBe(toBech32(WALLET, 'coinvaloper'))
    expect(genesis.app_state.staking.delegations).toEqual([
      {
        delegator_address: toBech32(WALLET),
        validator_address: toBech32(WALLET, 'coinvaloper'),
        shares: '1000000000000000000000000.000000000000000000',
      },
    ])
  })

  it('mints the self-delegation of every validator and lists them in order', () => {
    const genesis = createGenesis({ ...INPUT, otherValidators: [SECOND] })
    expect(genesisValidators(genesis)).toMatchObject([
      { operator: WALLET, publicKey: INPUT.consensusPublicKey, power: 1_000_000n },
      { operator: SECOND.operator, publicKey: SECOND.consensusPublicKey, power: 3n },
    ])
    expect(balanceOf(genesis, WALLET)).toBe(10n ** 27n)
    expect(balanceOf(genesis, SECOND.operator)).toBeUndefined()
    expect(balanceOf(genesis, moduleAddress('bonded_tokens_pool'))).toBe(10n ** 24n + 3n * 10n ** 18n)
    expect(genesis.app_state.staking.delegations[1]?.delegator_address).toBe(toBech32(SECOND.operator))
    expect(genesis.app_state.staking.validators.map((validator) => validator.operator_address)).toEqual([
      toBech32(WALLET, 'coinvaloper'),
      toBech32(SECOND.operator, 'coinvaloper'),
    ])
    expect(parseGenesis(formatGenesis(genesis))).toEqual(genesis)
  })

  it('depends on its input alone and survives its file', () => {
    const genesis = createGenesis(INPUT)
    expect(createGenesis({ ...INPUT })).toEqual(genesis)
    const again = parseGenesis(formatGenesis(genesis))
    expect(again).toEqual(genesis)
    expect(genesisHash(again)).toEqual(genesisHash(genesis))
  })

  it.each<[string, Partial<GenesisInput>]>([
    ['time', { genesisTimeMs: INPUT.genesisTimeMs + 1000 }],
    ['chain ID', { chainId: 'coin_7628-1' }],
    ['wallet', { wallet: moduleAddress('x') }],
    ['self-delegation', { selfDelegationAcoin: 10n ** 24n + 1n }],
    ['consensus key', { consensusPublicKey: new Uint8Array(32).fill(8) }],
    ['registration', { hasNativeToken: false }],
    ['precompile gas limit', { precompileGasLimit: 4_000_000n }],
    ['funded accounts', { fundedAccounts: [{ address: moduleAddress('y'), balanceAcoin: 1n }] }],
  ])('another %s is another hash', (_, change) => {
    expect(genesisHash(createGenesis({ ...INPUT, ...change }))).not.toEqual(genesisHash(createGenesis(INPUT)))
  })

  it('cuts the time to whole seconds', () => {
    expect(createGenesis(INPUT).genesis_time).toBe('2026-06-01T12:00:00Z')
  })

  it.each<[string, Partial<GenesisInput>, RegExp]>([
    ['less than one unit of power', { selfDelegationAcoin: 10n ** 18n - 1n }, /tokens: less than/],
    ['a chain ID without a number', { chainId: 'coin-1' }, /chain_id: expected/],
    ['the wallet funded again', { fundedAccounts: [{ address: WALLET, balanceAcoin: 1n }] }, /genesis wallet/],
    ['a fork older than Cancun', { forks: [{ height: 0, fork: 'shanghai' }] }, /older than cancun/],
    ['a schedule that starts late', { forks: [{ height: 5, fork: 'osaka' }] }, /first height must be 0/],
    [
      'a schedule that goes back',
      {
        forks: [
          { height: 0, fork: 'osaka' },
          { height: 5, fork: 'prague' },
        ],
      },
      /prague comes before osaka/,
    ],
    [
      'two forks at one height',
      {
        forks: [
          { height: 0, fork: 'prague' },
          { height: 5, fork: 'osaka' },
          { height: 5, fork: 'osaka' },
        ],
      },
      /heights must rise/,
    ],
    ['an operator with two validators', { otherValidators: [{ ...SECOND, operator: WALLET }] }, /is there twice/],
    [
      'a consensus key with two operators',
      { otherValidators: [{ ...SECOND, consensusPublicKey: INPUT.consensusPublicKey }] },
      /is there twice/,
    ],
    ['a tiny block gas limit', { blockGasLimit: 1000n }, /max_gas/],
    ['less precompile gas than four pairings', { precompileGasLimit: 180_999n }, /precompile_gas_limit/],
  ])('refuses %s', (_, change, problem) => {
    expect(() => createGenesis({ ...INPUT, ...change })).toThrow(problem)
  })
})

describe('chainConfigOf', () => {
  it('reads what execution needs', () => {
    const genesis = createGenesis(INPUT)
    expect(chainConfigOf(genesis)).toEqual({
      chainId: 'coin_76287-1',
      evmChainId: 76287n,
      genesisHash: genesisHash(genesis),
      genesisTimeMs: Date.UTC(2026, 5, 1, 12),
      forks: [{ height: 0, fork: 'osaka' }],
      blockGasLimit: 100_000_000n,
      precompileGasLimit: 5_000_000n,
      allowsUnprotected: true,
      maxBlockBytes: 2_000_000,
      blockIntervalMs: 400,
      timing: {
        proposeTimeoutMs: 700,
        proposeTimeoutDeltaMs: 200,
        voteTimeoutMs: 200,
        voteTimeoutDeltaMs: 100,
        precisionMs: 500,
        messageDelayMs: 3000,
      },
      evidence: { maxAgeBlocks: 4_536_000, maxAgeMs: 1_814_400_000, maxBytes: 1_048_576 },
      feeMarket: { elasticity: 2n, changeDenominator: 240n, minimumBaseFee: 10n ** 9n, initialBaseFee: 10n ** 9n },
      validatorRanksHeight: 1,
      registeredPrecompiles: [NATIVE_TOKEN_ADDRESS, ...STATIC_PRECOMPILES].map((address) => parseAddress(address)),
    })
  })

  it('has no proposer priorities in the state where the genesis does not mention them, as those of older versions', () => {
    const { consensus, ...rest } = createGenesis(INPUT)
    const { validator_ranks, ...params } = consensus.params
    expect(validator_ranks).toEqual({ enable_height: '1' })
    const older = { ...rest, consensus: { ...consensus, params } }
    const never = {
      ...older,
      consensus: { ...consensus, params: { ...params, validator_ranks: { enable_height: '0' } } },
    }
    for (const genesis of [older, never]) {
      expect(parseGenesis(formatGenesis(genesis))).toEqual(genesis)
      expect(chainConfigOf(genesis).validatorRanksHeight).toBe(0)
    }
  })

  it('has no transactions without a chain ID where the genesis does not mention them, as those of older versions', () => {
    const genesis = createGenesis(INPUT)
    const { evm } = genesis.app_state
    const { allow_unprotected_txs, ...params } = evm.params
    expect(allow_unprotected_txs).toBe(true)
    const older = { ...genesis, app_state: { ...genesis.app_state, evm: { ...evm, params } } }
    expect(parseGenesis(formatGenesis(older))).toEqual(older)
    expect(canonicalJson(older)).not.toContain('unprotected')
    expect(chainConfigOf(older).allowsUnprotected).toBe(false)
    expect(chainConfigOf(createGenesis({ ...INPUT, allowsUnprotected: false })).allowsUnprotected).toBe(false)
  })

  it('has no precompile where the genesis registers none', () => {
    const genesis = createGenesis({ ...INPUT, hasNativeToken: false, hasStaticPrecompiles: false })
    expect(chainConfigOf(genesis).registeredPrecompiles).toEqual([])
    const native = parseAddress('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')
    expect(genesisAllocations(genesis).some((account) => equalBytes(account.address, native))).toBe(false)
  })
})

describe('genesisAllocations', () => {
  it('gives contracts nonce 1 and the registered precompile its stub, in order of address', () => {
    const accounts = genesisAllocations(createGenesis(INPUT))
    expect(accounts.map((account) => [bytesToHex(account.address), account.nonce, account.code.length])).toEqual(
      [
        ['0x000000000022d473030f116ddee9f6b43ac78ba3', 1n, 9152],
        ['0x0000f90827f1c53a10cb7a02335b175320002935', 1n, 83],
        ['0x000f3df6d732807ef1319fb7b8bb8522d0beac02', 1n, 97],
        ['0x4e59b44847b379578588920ca78fbf26c0b4956c', 1n, 69],
        [bytesToHex(moduleAddress('bonded_tokens_pool')), 0n, 0],
        ['0xca11bde05977b3631167028862be2a173976ca11', 1n, 3808],
        ['0xba5ed099633d3b313e4d5f7bdc1305d3c28ba5ed', 1n, 11838],
        ['0x1820a4b7618bde71dce8cdc73aab6c95905fad24', 1n, 2501],
        ['0x914d7fec6aac8cd542e72bca78b30650d45643d7', 1n, 69],
        ['0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789', 1n, 23689],
        ['0x7fc98430eaedbb6070b35b39d798725049088348', 1n, 528],
        ['0x0000000071727de22e5e9d8baf0edac6f37da032', 1n, 16035],
        ['0xefc2c1444ebcc4db75e7613d20c6a62ff67a167c', 1n, 451],
        ['0x4337084d9e255ff0702461cf8895ce9e3b5ff108', 1n, 21738],
        ['0x449ed7c3e6fee6a97311d4b55475df59c44add33', 1n, 1217],
        ['0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 1n, 1],
        ...STATIC_PRECOMPILES.map((address): [string, bigint, number] => [address, 1n, 1]),
        ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 0n, 0],
      ].sort((a, b) => (a[0]! < b[0]! ? -1 : 1)),
    )
  })

  it('holds the whole supply', () => {
    const genesis = createGenesis({ ...INPUT, fundedAccounts: [{ address: moduleAddress('z'), balanceAcoin: 5n }] })
    const sum = genesisAllocations(genesis).reduce((total, account) => total + account.balanceAcoin, 0n)
    expect(sum).toBe(BigInt(genesis.app_state.bank.supply[0]!.amount))
  })
})

describe('parseGenesis', () => {
  const text = formatGenesis(createGenesis(INPUT))

  it.each<[string, string, string, RegExp]>([
    ['an unknown key', '"app_name"', '"app_nam": 1, "app_name"', /Unrecognized key/],
    [
      'a number instead of a string',
      '"max_gas": "100000000"',
      '"max_gas": 30000000',
      /consensus\.params\.block\.max_gas/,
    ],
    ['a supply that is not the sum', /"supply": \[\s*\{\s*"denom": "acoin",\s*"amount": "1001/.source, '', /supply/],
    ['another EVM chain ID', '"chain_id": "76287"', '"chain_id": "76288"', /not the number in chain_id/],
    ['another power', '"power": "1000000"', '"power": "1000001"', /power: expected 1000000/],
    ['a bad checksum', toBech32(WALLET), `${toBech32(WALLET).slice(0, -1)}q`, /address/],
    [
      'another native precompile',
      '"0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"\n',
      '"0x00000000000000000000000000000000000000AA"\n',
      /native_precompiles/,
    ],
    ['no precompile gas limit', '"precompile_gas_limit": "5000000",', '', /precompile_gas_limit/],
    ['a height that is no number', '"enable_height": "1"', '"enable_height": "one"', /validator_ranks\.enable_height/],
    [
      'a height that is too large',
      '"enable_height": "1"',
      `"enable_height": "${2 ** 53}"`,
      /validator_ranks\.enable_height/,
    ],
    ['a fork that nobody knows', '"osaka"', '"tokyo"', /fork_schedule/],
    ['text after the end', '"app_name"', '}', /not JSON/],
  ])('refuses %s', (name, from, to, problem) => {
    const changed =
      name === 'a supply that is not the sum'
        ? text.replace(/("supply": \[\s*\{\s*"denom": "acoin",\s*"amount": )"1001/, '$1"1002')
        : text.replace(from, to)
    expect(changed).not.toBe(text)
    expect(() => parseGenesis(changed)).toThrow(problem)
  })
})

describe('addGenesisAccount', () => {
  it.each<[string, Uint8Array, RegExp]>([
    ['a module account', moduleAddress('gov_deposits'), /is the account of the module gov_deposits/],
    ['a precompile of this chain', parseAddress(STATIC_PRECOMPILES[1]!), /reserved for precompiles/],
    ["the native token's contract", parseAddress(NATIVE_TOKEN_ADDRESS), /reserved for precompiles/],
    ["one of Ethereum's precompiles", parseAddress(`0x${'00'.repeat(19)}05`), /reserved for precompiles/],
  ])('refuses %s as a vesting account', (_, address, problem) => {
    const vesting = { amountAcoin: 10n, startTime: 0n, endTime: 2_000_000_000n }
    // A draft in which no precompile is active.
    const genesis = createGenesis({ ...INPUT, hasStaticPrecompiles: false })
    expect(() => addGenesisAccount(genesis, { address, balanceAcoin: 10n, vesting })).toThrow(problem)
  })
})

describe('canonicalJson', () => {
  it('sorts keys at every depth and leaves lists in order', () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }, 'x'], a: { z: true, B: '"' } })).toBe(
      '{"a":{"B":"\\"","z":true},"b":[{"c":null,"d":1},"x"]}',
    )
  })

  it('does not depend on the order of keys and means the same value', () => {
    const tree = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.maxSafeInteger(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 5 }),
      ),
    })).value
    const reversed = (value: Json): Json =>
      Array.isArray(value)
        ? value.map(reversed)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, part]) => [key, reversed(part)]),
            )
          : value
    fc.assert(
      fc.property(tree, (value) => {
        const text = canonicalJson(value)
        expect(canonicalJson(reversed(value))).toBe(text)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it.each([1.5, 2 ** 53, Number.NaN])('refuses the number %s', (value) => {
    expect(() => canonicalJson({ value })).toThrow(TypeError)
  })
})

describe('genesis.example.json', () => {
  const file = readFileSync(new URL('../../../../genesis.example.json', import.meta.url), 'utf8')

  it('is what scripts/exampleGenesis.ts makes', () => {
    expect(file).toBe(exampleGenesis())
  })

  it('is a genesis of the testnet', () => {
    expect(chainConfigOf(parseGenesis(file)).evmChainId).toBe(76287n)
  })
})
