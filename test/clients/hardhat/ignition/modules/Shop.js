import { buildModule } from '@nomicfoundation/hardhat-ignition/modules'

export default buildModule('Shop', (module) => {
  const stock = module.contract('Stock', [100n])
  const shop = module.contract('Shop', [stock], { value: 5n })
  module.call(shop, 'buy', [7n])
  return { stock, shop }
})
