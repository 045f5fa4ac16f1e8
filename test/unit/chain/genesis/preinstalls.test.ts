import {
  concat,
  getContractAddress,
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializedLegacy,
  toRlp,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { PREINSTALLS } from '../../../../src/chain/genesis/createGenesis.ts'
import deployments from '../../../support/chain/preinstallDeployments.json' with { type: 'json' }
import { createMemoryChain } from '../../../support/precompiles/memoryChain.ts'

/** As they were made on other chains: signed transactions of accounts without a known key, and salts and init code of the CREATE2 proxy. */
const PRESIGNED = deployments.flatMap(({ name, transaction }) =>
  transaction === undefined ? [] : [{ name, transaction }],
)
const ENTRY_POINTS = deployments.flatMap(({ name, creator, salt, initCode }) =>
  initCode === undefined ? [] : [{ name, creator, salt, initCode }],
)
/** The code is that of mainnet, where a constructor keeps the chain ID. */
const ETHEREUM = 1n

interface Deployment {
  readonly name: string
  /** code before the runtime code in the creation code */
  readonly prefix: Hex
  readonly gasPrice: Hex
  readonly gas: Hex
  readonly v: Hex
  readonly r: Hex
  readonly s: Hex
}

/**
 * The pre-signed transactions that created these contracts. Whoever changes one bit of the code gets another signer, so
 * another address.
 */
const DEPLOYMENTS: readonly Deployment[] = [
  {
    name: 'EIP-4788 beacon roots',
    prefix: '0x60618060095f395ff3',
    gasPrice: '0xe8d4a51000',
    gas: '0x3d090',
    v: '0x1b',
    r: '0x539',
    s: '0x1b9b6eb1f0',
  },
  {
    name: 'EIP-2935 block hashes',
    prefix: '0x60538060095f395ff3',
    gasPrice: '0xe8d4a51000',
    gas: '0x3d090',
    v: '0x1b',
    r: '0x539',
    s: '0xaa12693182426612186309f02cfe8a80a0000',
  },
  {
    name: 'Deterministic deployment proxy (CREATE2)',
    prefix: '0x604580600e600039806000f350fe',
    gasPrice: '0x174876e800',
    gas: '0x186a0',
    v: '0x1b',
    r: `0x${'2'.repeat(64)}`,
    s: `0x${'2'.repeat(64)}`,
  },
  {
    name: 'Multicall3',
    prefix: '0x608060405234801561001057600080fd5b50610ee0806100206000396000f3fe',
    gasPrice: '0x174876e800',
    gas: '0xf4240',
    v: '0x1c',
    r: '0xedce47092c0f398cebf3ffc267f05c8e7076e3b89445e0fe50f6332273d4569b',
    s: '0x1b0b9d000e19b24c5869b0fc3b22b0d6fa47cd63316875cbbd577d76e6fde086',
  },
]

function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}

function preinstall(name: string): { address: Hex; code: Hex } {
  const { address, code } = PREINSTALLS.find((entry) => entry.name === name)!
  return { address: address as Hex, code: code as Hex }
}

describe('preinstalls', () => {
  it.each(DEPLOYMENTS)('$name is what its pre-signed transaction creates', async (deployment) => {
    const { address, code } = preinstall(deployment.name)
    const creation: Hex = `${deployment.prefix}${code.slice(2)}`
    const { gasPrice, gas, v, r, s } = deployment
    const raw = toRlp(['0x', gasPrice, gas, '0x', '0x', creation, v, r, s]) as TransactionSerializedLegacy
    const from = await recoverTransactionAddress({ serializedTransaction: raw })
    expect(getContractAddress({ from, nonce: 0n })).toBe(address)
  })

  it.each(PRESIGNED)(
    '$name is what its pre-signed transaction creates, at its address',
    async ({ name, transaction }) => {
      const { address, code } = preinstall(name)
      const serializedTransaction = transaction as TransactionSerializedLegacy
      const from = await recoverTransactionAddress({ serializedTransaction })
      expect(getContractAddress({ from, nonce: 0n })).toBe(address)
      const { data } = parseTransaction(serializedTransaction)
      const chain = createMemoryChain({ preinstalls: [], chainId: ETHEREUM, balances: { [lower(from)]: 10n ** 20n } })
      await chain.send({ from: lower(from), data: data! })
      expect(chain.code(lower(address))).toBe(code)
    },
  )

  it.each(ENTRY_POINTS)('$name and $creator are what the CREATE2 proxy creates', async (deployment) => {
    const { name, creator } = deployment
    const [salt, initCode] = [deployment.salt as Hex, deployment.initCode as Hex]
    const entryPoint = preinstall(name)
    const senderCreator = preinstall(creator)
    const proxy = PREINSTALLS.filter((entry) => entry.name === 'Deterministic deployment proxy (CREATE2)')
    const [from, to] = [lower('0xa11ce00000000000000000000000000000000001'), lower(proxy[0]!.address as Hex)]
    const address = getContractAddress({ opcode: 'CREATE2', from: to, salt, bytecode: initCode })
    expect(address).toBe(entryPoint.address)
    // The constructor creates it, and keeps its address.
    expect(getContractAddress({ from: address, nonce: 1n })).toBe(senderCreator.address)
    const chain = createMemoryChain({ preinstalls: proxy, chainId: ETHEREUM, balances: { [from]: 10n ** 20n } })
    await chain.send({ from, to, data: concat([salt, initCode]) })
    expect(chain.code(lower(entryPoint.address))).toBe(entryPoint.code)
    expect(chain.code(lower(senderCreator.address))).toBe(senderCreator.code)
  })

  it('Permit2 is what the CREATE2 proxy creates, with the immutables of chain 1', () => {
    const { address, code } = preinstall('Permit2')
    const separator = '866a5aba21966af95d6c7ab78eb2b2fc913915c28be3b9aa07cc04ff903e3f28'
    const chainId = '1'.padStart(64, '0')
    // solc leaves zeros in the creation code where the constructor puts immutables, each once after a PUSH32
    const runtime = [separator, chainId].reduce((hex, immutable) => {
      expect(hex.split(`7f${immutable}`)).toHaveLength(2)
      return hex.replace(`7f${immutable}`, `7f${'0'.repeat(64)}`)
    }, code.slice(2))
    const creation: Hex = `${PERMIT2_CONSTRUCTOR}${runtime}`
    expect(
      getContractAddress({
        opcode: 'CREATE2',
        from: '0x4e59b44847b379578588920cA78FbF26c0B4956C',
        salt: '0x0000000000000000000000000000000000000000d3af2663da51c10215000000',
        bytecodeHash: keccak256(creation),
      }),
    ).toBe(address)
  })
})

const PERMIT2_CONSTRUCTOR =
  '0x60c0346100bb574660a052602081017f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a86681527f9ac997416e8ff9d2ff6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a60408301524660608301523060808301526080825260a082019180831060018060401b038411176100a557826040525190206080526123c090816100c1823960805181611b47015260a05181611b210152f35b634e487b7160e01b600052604160045260246000fd5b600080fdfe'
