// Run by Hardhat in a fork of the devnet's chain.
const assert = require('node:assert/strict')
const { ethers, network } = require('hardhat')

const { TOKEN, TOKEN_TX, RPC_URL } = process.env

async function main() {
  const chain = new ethers.JsonRpcProvider(RPC_URL)
  const { from: holder } = await chain.getTransaction(TOKEN_TX)
  const abi = ['function balanceOf(address) view returns (uint256)', 'function transfer(address, uint256) returns (bool)']
  // Hardhat refuses calls in blocks of a chain whose hard forks it does not know; the next block is its own.
  await network.provider.send('evm_mine')
  const real = new ethers.Contract(TOKEN, abi, chain)
  await network.provider.request({ method: 'hardhat_impersonateAccount', params: [holder] })
  const token = real.connect(await ethers.getSigner(holder))
  const before = await token.balanceOf(holder)
  assert.equal(before, await real.balanceOf(holder))
  await (await token.transfer('0x00000000000000000000000000000000000000f0', 5n)).wait()
  assert.equal(await token.balanceOf(holder), before - 5n)
  assert.equal(await real.balanceOf(holder), before)
  console.log('the fork reads the chain and changes its copy')
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)
