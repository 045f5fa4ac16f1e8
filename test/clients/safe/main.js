// Safe's contracts get their usual addresses; a Safe with three owners is made and used by Safe's kit.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import protocolKit, { hashSafeMessage } from '@safe-global/protocol-kit'
import { OperationType, SigningMethod } from '@safe-global/types-kit'
import {
  concat,
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  keccak256,
  parseAbi,
  parseEther,
  zeroHash,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const Safe = protocolKit.default ?? protocolKit
const require = createRequire(import.meta.url)
const { RPC_URL, CHAIN_ID, PRIVATE_KEY } = process.env
const chain = defineChain({
  id: Number(CHAIN_ID),
  name: 'devnet',
  nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
  rpcUrls: { default: { http: [RPC_URL] } },
})
const payer = privateKeyToAccount(PRIVATE_KEY)
const wallet = createWalletClient({ account: payer, chain, transport: http() })
const reader = createPublicClient({ chain, transport: http(), pollingInterval: 100 })
const mined = (hash) => reader.waitForTransactionReceipt({ hash })

/** Safe's factory of the genesis, which other chains have at the same address. */
const SINGLETON_FACTORY = '0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7'
const CONTRACTS = {
  safeSingletonAddress: ['SafeL2', 'safe_l2'],
  safeProxyFactoryAddress: ['proxies/SafeProxyFactory', 'safe_proxy_factory'],
  multiSendAddress: ['libraries/MultiSend', 'multi_send'],
  multiSendCallOnlyAddress: ['libraries/MultiSendCallOnly', 'multi_send_call_only'],
  fallbackHandlerAddress: ['handler/CompatibilityFallbackHandler', 'compatibility_fallback_handler'],
  signMessageLibAddress: ['libraries/SignMessageLib', 'sign_message_lib'],
  createCallAddress: ['libraries/CreateCall', 'create_call'],
  simulateTxAccessorAddress: ['accessors/SimulateTxAccessor', 'simulate_tx_accessor'],
}

const addresses = {}
for (const [name, [path, file]] of Object.entries(CONTRACTS)) {
  const contract = path.split('/').at(-1)
  const artifacts = '@safe-global/safe-contracts/build/artifacts/contracts'
  const { bytecode } = require(`${artifacts}/${path}.sol/${contract}.json`)
  const { deployments } = require(`@safe-global/safe-deployments/dist/assets/v1.4.1/${file}.json`)
  const { address, codeHash } = deployments.canonical
  if ((await reader.getCode({ address })) === undefined) {
    await mined(await wallet.sendTransaction({ to: SINGLETON_FACTORY, data: concat([zeroHash, bytecode]) }))
  }
  assert.equal(
    keccak256(await reader.getCode({ address })),
    codeHash,
    `another contract than ${contract} at ${address}`,
  )
  addresses[name] = address
}
console.log(
  `${Object.keys(addresses).length} contracts of Safe 1.4.1 with the addresses and the bytecode of other chains`,
)

const contractNetworks = { [CHAIN_ID]: addresses }
const others = [generatePrivateKey(), generatePrivateKey()]
for (const key of others) {
  const { address } = privateKeyToAccount(key)
  await mined(await wallet.sendTransaction({ to: address, value: parseEther('1') }))
}
const owners = [PRIVATE_KEY, ...others].map((key) => privateKeyToAccount(key).address)
const predictedSafe = {
  safeAccountConfig: { owners, threshold: 2 },
  safeDeploymentConfig: { safeVersion: '1.4.1', saltNonce: String(BigInt(generatePrivateKey())) },
}
const planned = await Safe.init({ provider: RPC_URL, signer: PRIVATE_KEY, predictedSafe, contractNetworks })
const safeAddress = await planned.getAddress()
assert.equal(await planned.isSafeDeployed(), false)
const { to: factory, data: initialization } = await planned.createSafeDeploymentTransaction()
await mined(await wallet.sendTransaction({ to: factory, data: initialization }))
const of = (signer) => Safe.init({ provider: RPC_URL, signer, safeAddress, contractNetworks })
const safe = await of(PRIVATE_KEY)
assert.deepEqual([...(await safe.getOwners())].sort(), [...owners].sort())
assert.equal(await safe.getThreshold(), 2)
await mined(await wallet.sendTransaction({ to: safeAddress, value: parseEther('10') }))
assert.equal(await safe.getBalance(), parseEther('10'))
console.log('a Safe of three owners is at the address that was predicted')

const execute = async (transaction) => mined((await safe.executeTransaction(transaction)).hash)
const to = privateKeyToAccount(generatePrivateKey()).address
const pay = (amount) => ({ to, value: String(amount), data: '0x', operation: OperationType.Call })
let transaction = await safe.createTransaction({ transactions: [pay(parseEther('1'))] })
transaction = await safe.signTransaction(transaction, SigningMethod.ETH_SIGN_TYPED_DATA_V4)
assert.equal(await safe.isValidTransaction(transaction), false)
transaction = await (await of(others[0])).signTransaction(transaction, SigningMethod.ETH_SIGN)
assert.equal(await safe.isValidTransaction(transaction), true)
assert.equal((await execute(transaction)).status, 'success')
assert.equal(await reader.getBalance({ address: to }), parseEther('1'))

const batch = await safe.createTransaction({ transactions: [pay(1n), pay(2n), pay(3n)] })
const hash = await safe.getTransactionHash(batch)
await mined((await (await of(others[1])).approveTransactionHash(hash)).hash)
assert.deepEqual(await safe.getOwnersWhoApprovedTx(hash), [owners[2]])
assert.equal((await execute(await safe.signTransaction(batch))).status, 'success')
assert.equal(await reader.getBalance({ address: to }), parseEther('1') + 6n)
console.log('signatures of typed data, of eth_sign and on the chain; a batch through MultiSend')

const change = await safe.createRemoveOwnerTx({ ownerAddress: owners[2], threshold: 1 })
const signed = await (await of(others[0])).signTransaction(await safe.signTransaction(change))
assert.equal((await execute(signed)).status, 'success')
assert.equal(await safe.getThreshold(), 1)
assert.equal((await safe.getOwners()).length, 2)

const message = await safe.signMessage(safe.createMessage('I own this Safe'))
const abi = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
const isValid = (text) =>
  reader.readContract({
    ...{ address: safeAddress, abi, functionName: 'isValidSignature' },
    args: [hashSafeMessage(text), message.encodedSignatures()],
  })
assert.equal(await isValid('I own this Safe'), '0x1626ba7e')
await assert.rejects(isValid('another'), /GS026/)
console.log('an owner less; a message by EIP-1271')
