import { pathToFileURL } from 'node:url'
import { createPublicClient, createWalletClient, defineChain, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { compileContract } from '../contracts/compile.ts'

/**
 * Deploys the WETH9-style wrapper of COIN, for chains whose genesis does not register the native token contract.
 *
 *     RPC_URL=http://127.0.0.1:8080 PRIVATE_KEY=0x… node scripts/deployWrappedCoin.ts
 *
 * @returns the contract's address, when it is in a block
 * @throws Error when the transaction fails, or the error that the RPC reports
 */
export async function deployWrappedCoin(rpcUrl: string, privateKey: Hex): Promise<Hex> {
  const transport = http(rpcUrl)
  const id = await createPublicClient({ transport }).getChainId()
  const nativeCurrency = { name: 'COIN', symbol: 'COIN', decimals: 18 }
  const chain = defineChain({ id, name: `chain ${id}`, nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } })
  const wallet = createWalletClient({ chain, transport, account: privateKeyToAccount(privateKey) })
  const { abi, bytecode } = compileContract('WrappedCoin.sol', 'WrappedCoin')
  const hash = await wallet.deployContract({ abi, bytecode })
  const receipt = await createPublicClient({ chain, transport, pollingInterval: 200 }).waitForTransactionReceipt({
    hash,
  })
  if (receipt.status !== 'success' || !receipt.contractAddress) throw new Error(`the deployment ${hash} failed`)
  return receipt.contractAddress
}

async function main(): Promise<void> {
  const { RPC_URL = 'http://127.0.0.1:8080', PRIVATE_KEY } = process.env
  if (PRIVATE_KEY === undefined || !/^0x[0-9a-fA-F]{64}$/.test(PRIVATE_KEY)) {
    throw new Error('PRIVATE_KEY must hold the deploying account: 0x and 64 hex digits')
  }
  console.log(`WrappedCoin is at ${await deployWrappedCoin(RPC_URL, PRIVATE_KEY as Hex)}`)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
