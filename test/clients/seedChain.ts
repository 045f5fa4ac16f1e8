import { createPublicClient, createWalletClient, type Hex, http, ripemd160, sha256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { compileContract } from '../../contracts/compile.ts'
import { ACCOUNTS, CHAIN_ID, COIN, ERC20_ABI, KEYS, viemChain } from '../e2e/devChain.ts'
import { connectCosmJs } from '../e2e/native/nativeChain.ts'
import { rpc } from '../e2e/rpc.ts'
import type { ClientEnvironment } from './client.ts'

const TRANSFERS = 20

interface Status {
  readonly node_info: { readonly network: string }
}

/** Of a plain secp256k1 key: RIPEMD-160 of SHA-256 of the compressed public key. */
function cosmosAddressOf(privateKey: Hex): Hex {
  return ripemd160(sha256(compressed(privateKeyToAccount(privateKey).publicKey)))
}

/** @param publicKey 0x04, then x and y */
function compressed(publicKey: Hex): Hex {
  const isOdd = Number.parseInt(publicKey.at(-1)!, 16) % 2 === 1
  return `0x${isOdd ? '03' : '02'}${publicKey.slice(4, 68)}`
}

/** Deploys a token and makes transfers of it and of the coin, also a native one, for clients that read. */
export async function seedChain(url: string): Promise<ClientEnvironment> {
  const [owner, ...others] = ACCOUNTS
  const chain = viemChain(url)
  const wallet = createWalletClient({ account: owner!, chain, transport: http(url) })
  const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 100 })
  const { abi, bytecode } = compileContract('test/SampleToken.sol', 'SampleToken')
  const args = ['Sample', 'SMP', 1_000_000n * COIN]
  const created = await reader.waitForTransactionReceipt({
    hash: await wallet.deployContract({ abi, bytecode: bytecode as Hex, args }),
  })
  const token = created.contractAddress!
  let nonce = await reader.getTransactionCount({ address: owner!.address })
  const hashes: Hex[] = []
  for (let index = 0; index < TRANSFERS; index++) {
    const to = others[index % others.length]!.address
    hashes.push(
      await wallet.writeContract({
        ...{ address: token, abi: ERC20_ABI, functionName: 'transfer', args: [to, BigInt(index + 1)], nonce: nonce++ },
      }),
    )
  }
  const coin = await wallet.sendTransaction({ to: others[0]!.address, value: COIN, nonce })
  for (const hash of [...hashes, coin]) await reader.waitForTransactionReceipt({ hash })
  // The same keys have other addresses in Cosmos.
  for (const key of KEYS.slice(1)) {
    const value = 100n * COIN
    const funded = await wallet.sendTransaction({ to: cosmosAddressOf(key), value, nonce: ++nonce })
    await reader.waitForTransactionReceipt({ hash: funded })
  }
  const cosmos = await connectCosmJs({ url }, KEYS[0]!)
  const native = await cosmos.client.sendTokens(cosmos.address, cosmos.address, [{ denom: 'acoin', amount: '1' }], 1.5)
  const last = ACCOUNTS.at(-1)!
  const signed = await createWalletClient({ account: last, chain, transport: http(url) }).signTransaction({
    ...{ to: owner!.address, value: 1n, nonce: 0, gas: 21_000n, type: 'eip1559' },
    ...(await reader.estimateFeesPerGas()),
  })
  const { network } = (await rpc<Status>(`${url}rpc`, 'status')).node_info
  return {
    CHAIN_ID: String(CHAIN_ID),
    COSMOS_CHAIN_ID: network,
    TOKEN: token,
    TOKEN_BLOCK: String(created.blockNumber),
    TOKEN_TX: hashes[0]!,
    COIN_TX: coin,
    NATIVE_TX: native.transactionHash,
    SIGNED_TX: signed,
    TOKEN_TRANSFERS: String(TRANSFERS),
  }
}
