// Generated from the contracts by `npm run contracts`.

export const protocolAbi = [
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "depositId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "lp",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "CapitalWithdrawn",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "creator",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "CreatorEarningsWithdrawn",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "depositId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "lp",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "shares",
        "type": "uint256"
      }
    ],
    "name": "DepositCreated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "creator",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "underlying",
        "type": "string"
      },
      {
        "indexed": false,
        "name": "strike",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "premiumRate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "expiryDate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "initialLiquidity",
        "type": "uint256"
      }
    ],
    "name": "EventCreated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "positionId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "hedger",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "grossPayout",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "fee",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "netPayout",
        "type": "uint256"
      }
    ],
    "name": "PayoutClaimed",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "poolOpen",
        "type": "bool"
      },
      {
        "indexed": false,
        "name": "allowExternalLp",
        "type": "bool"
      }
    ],
    "name": "PoolSettingsUpdated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "positionId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "hedger",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "notional",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "premiumPaid",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "platformFee",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "totalCost",
        "type": "uint256"
      }
    ],
    "name": "PositionCreated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "depositId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "lp",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "grossAmount",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "fee",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "netAmount",
        "type": "uint256"
      }
    ],
    "name": "PremiumsClaimed",
    "type": "event"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_notional",
        "type": "uint256"
      },
      {
        "name": "_maxCost",
        "type": "uint256"
      },
      {
        "name": "_deadline",
        "type": "uint256"
      }
    ],
    "name": "buyProtection",
    "outputs": [
      {
        "name": "positionId",
        "type": "uint256"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_positionId",
        "type": "uint256"
      }
    ],
    "name": "claimPayout",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_depositId",
        "type": "uint256"
      }
    ],
    "name": "claimPremiums",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "components": [
          {
            "name": "name",
            "type": "string"
          },
          {
            "name": "underlying",
            "type": "string"
          },
          {
            "name": "strike",
            "type": "uint256"
          },
          {
            "name": "payoutCap",
            "type": "uint256"
          },
          {
            "name": "premiumRate",
            "type": "uint256"
          },
          {
            "name": "expiryDate",
            "type": "uint256"
          },
          {
            "name": "allowExternalLp",
            "type": "bool"
          },
          {
            "name": "initialLiquidity",
            "type": "uint256"
          },
          {
            "name": "initialRate",
            "type": "uint256"
          },
          {
            "name": "strikeAbove",
            "type": "bool"
          },
          {
            "name": "paymentToken",
            "type": "address"
          },
          {
            "name": "signature",
            "type": "bytes"
          },
          {
            "name": "quoteTimestamp",
            "type": "uint256"
          },
          {
            "name": "quoteNonce",
            "type": "bytes32"
          }
        ],
        "name": "_params",
        "type": "tuple"
      }
    ],
    "name": "createEvent",
    "outputs": [
      {
        "name": "eventId",
        "type": "uint256"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_amount",
        "type": "uint256"
      }
    ],
    "name": "deposit",
    "outputs": [
      {
        "name": "depositId",
        "type": "uint256"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_poolOpen",
        "type": "bool"
      },
      {
        "name": "_allowExternalLp",
        "type": "bool"
      }
    ],
    "name": "setPoolSettings",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_depositId",
        "type": "uint256"
      }
    ],
    "name": "withdrawCapital",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "withdrawCreatorEarnings",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "token",
        "type": "address"
      },
      {
        "indexed": true,
        "name": "to",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "ERC20Rescued",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "to",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "ETHRescued",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "settlementPrice",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "triggered",
        "type": "bool"
      }
    ],
    "name": "EventSettled",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "ExpiredPayoutsRecovered",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": false,
        "name": "eventCreationFee",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "hedgerFeeRate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "hedgerPayoutFeeRate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "lpProfitFeeRate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "creatorLoyaltyRate",
        "type": "uint256"
      }
    ],
    "name": "FeesInitialized",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "admin",
        "type": "address"
      }
    ],
    "name": "OracleAdminSet",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [],
    "name": "OracleV2Activated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "by",
        "type": "address"
      }
    ],
    "name": "Paused",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "token",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "allowed",
        "type": "bool"
      }
    ],
    "name": "PaymentTokenSet",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "token",
        "type": "address"
      },
      {
        "indexed": true,
        "name": "admin",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "PlatformFeesByTokenWithdrawn",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "admin",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      }
    ],
    "name": "PlatformFeesWithdrawn",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "previousSigner",
        "type": "address"
      },
      {
        "indexed": true,
        "name": "newSigner",
        "type": "address"
      }
    ],
    "name": "PricingEngineSignerSet",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "by",
        "type": "address"
      }
    ],
    "name": "Unpaused",
    "type": "event"
  },
  {
    "inputs": [],
    "name": "activateOracleV2",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventCreationFee",
        "type": "uint256"
      },
      {
        "name": "_hedgerFeeRate",
        "type": "uint256"
      },
      {
        "name": "_hedgerPayoutFeeRate",
        "type": "uint256"
      },
      {
        "name": "_lpProfitFeeRate",
        "type": "uint256"
      },
      {
        "name": "_creatorLoyaltyRate",
        "type": "uint256"
      }
    ],
    "name": "initializeHedgeFees",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "pause",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "recoverExpiredPayouts",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_token",
        "type": "address"
      },
      {
        "name": "_to",
        "type": "address"
      }
    ],
    "name": "rescueERC20",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_to",
        "type": "address"
      }
    ],
    "name": "rescueETH",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_token",
        "type": "address"
      },
      {
        "name": "_allowed",
        "type": "bool"
      }
    ],
    "name": "setAllowedPaymentToken",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_admin",
        "type": "address"
      }
    ],
    "name": "setOracleAdmin",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_signer",
        "type": "address"
      }
    ],
    "name": "setPricingEngineSigner",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_settlementPrice",
        "type": "uint256"
      }
    ],
    "name": "settleEvent",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "unpause",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_amount",
        "type": "uint256"
      }
    ],
    "name": "withdrawPlatformFees",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_token",
        "type": "address"
      },
      {
        "name": "_amount",
        "type": "uint256"
      }
    ],
    "name": "withdrawPlatformFeesByToken",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_creator",
        "type": "address"
      }
    ],
    "name": "getCreatorEventIds",
    "outputs": [
      {
        "name": "",
        "type": "uint256[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getEventDepositIds",
    "outputs": [
      {
        "name": "",
        "type": "uint256[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getEventPaymentToken",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getEventPositionIds",
    "outputs": [
      {
        "name": "",
        "type": "uint256[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getEventQuoteSigner",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getHedgeEventCore",
    "outputs": [
      {
        "name": "id",
        "type": "uint256"
      },
      {
        "name": "creator",
        "type": "address"
      },
      {
        "name": "name",
        "type": "string"
      },
      {
        "name": "underlying",
        "type": "string"
      },
      {
        "name": "strike",
        "type": "uint256"
      },
      {
        "name": "premiumRate",
        "type": "uint256"
      },
      {
        "name": "expiryDate",
        "type": "uint256"
      },
      {
        "name": "status",
        "type": "uint8"
      },
      {
        "name": "poolOpen",
        "type": "bool"
      },
      {
        "name": "allowExternalLp",
        "type": "bool"
      },
      {
        "name": "initialRate",
        "type": "uint256"
      },
      {
        "name": "strikeAbove",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getHedgeEventRange",
    "outputs": [
      {
        "name": "strike",
        "type": "uint256"
      },
      {
        "name": "payoutCap",
        "type": "uint256"
      },
      {
        "name": "initialRate",
        "type": "uint256"
      },
      {
        "name": "strikeAbove",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getHedgeEventStats",
    "outputs": [
      {
        "name": "settlementPrice",
        "type": "uint256"
      },
      {
        "name": "triggered",
        "type": "bool"
      },
      {
        "name": "settledAt",
        "type": "uint256"
      },
      {
        "name": "creatorEarnings",
        "type": "uint256"
      },
      {
        "name": "totalLiquidity",
        "type": "uint256"
      },
      {
        "name": "totalExposure",
        "type": "uint256"
      },
      {
        "name": "totalPremiums",
        "type": "uint256"
      },
      {
        "name": "lpCount",
        "type": "uint256"
      },
      {
        "name": "hedgerCount",
        "type": "uint256"
      },
      {
        "name": "totalMaxPayout",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getHedgeFeeConfig",
    "outputs": [
      {
        "name": "eventCreationFee",
        "type": "uint256"
      },
      {
        "name": "hedgerFeeRate",
        "type": "uint256"
      },
      {
        "name": "hedgerPayoutFeeRate",
        "type": "uint256"
      },
      {
        "name": "lpProfitFeeRate",
        "type": "uint256"
      },
      {
        "name": "creatorLoyaltyRate",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_depositId",
        "type": "uint256"
      }
    ],
    "name": "getHedgeLpDeposit",
    "outputs": [
      {
        "name": "id",
        "type": "uint256"
      },
      {
        "name": "eventId",
        "type": "uint256"
      },
      {
        "name": "lp",
        "type": "address"
      },
      {
        "name": "amount",
        "type": "uint256"
      },
      {
        "name": "shares",
        "type": "uint256"
      },
      {
        "name": "premiumsEarned",
        "type": "uint256"
      },
      {
        "name": "premiumsClaimed",
        "type": "uint256"
      },
      {
        "name": "withdrawn",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getHedgePlatformFees",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_positionId",
        "type": "uint256"
      }
    ],
    "name": "getHedgePosition",
    "outputs": [
      {
        "name": "id",
        "type": "uint256"
      },
      {
        "name": "eventId",
        "type": "uint256"
      },
      {
        "name": "hedger",
        "type": "address"
      },
      {
        "name": "notional",
        "type": "uint256"
      },
      {
        "name": "premiumPaid",
        "type": "uint256"
      },
      {
        "name": "platformFeePaid",
        "type": "uint256"
      },
      {
        "name": "payoutAmount",
        "type": "uint256"
      },
      {
        "name": "status",
        "type": "uint8"
      },
      {
        "name": "claimed",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_hedger",
        "type": "address"
      }
    ],
    "name": "getHedgerPositionIds",
    "outputs": [
      {
        "name": "",
        "type": "uint256[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_lp",
        "type": "address"
      }
    ],
    "name": "getLpDepositIds",
    "outputs": [
      {
        "name": "",
        "type": "uint256[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_token",
        "type": "address"
      }
    ],
    "name": "getPlatformFeesByToken",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getPoolUtilization",
    "outputs": [
      {
        "name": "totalLiquidity",
        "type": "uint256"
      },
      {
        "name": "totalExposure",
        "type": "uint256"
      },
      {
        "name": "availableCapacity",
        "type": "uint256"
      },
      {
        "name": "utilizationPercent",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getPricingEngineSigner",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getTotalHedgeEvents",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_token",
        "type": "address"
      }
    ],
    "name": "isAllowedPaymentToken",
    "outputs": [
      {
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "isFeesInitialized",
    "outputs": [
      {
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "isPaused",
    "outputs": [
      {
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_nonce",
        "type": "bytes32"
      }
    ],
    "name": "isQuoteNonceUsed",
    "outputs": [
      {
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_depositId",
        "type": "uint256"
      }
    ],
    "name": "pendingPremiums",
    "outputs": [
      {
        "name": "pending",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_hypoSettlement",
        "type": "uint256"
      },
      {
        "name": "_notional",
        "type": "uint256"
      }
    ],
    "name": "quoteRangePayout",
    "outputs": [
      {
        "name": "payout",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "agreedPrice",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "signerCount",
        "type": "uint256"
      }
    ],
    "name": "ConsensusReached",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "oracle",
        "type": "address"
      }
    ],
    "name": "OracleAdded",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": false,
        "name": "requiredSigners",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "toleranceBps",
        "type": "uint256"
      }
    ],
    "name": "OracleConfigUpdated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "settlementPrice",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "triggered",
        "type": "bool"
      }
    ],
    "name": "OracleEventSettled",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "oracle",
        "type": "address"
      }
    ],
    "name": "OracleRemoved",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "oracle",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "price",
        "type": "uint256"
      }
    ],
    "name": "RateSubmitted",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "reason",
        "type": "string"
      }
    ],
    "name": "SubmissionsCleared",
    "type": "event"
  },
  {
    "inputs": [
      {
        "name": "_oracle",
        "type": "address"
      }
    ],
    "name": "addOracle",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "clearStaleSubmissions",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getAllSubmissions",
    "outputs": [
      {
        "name": "oracleAddresses",
        "type": "address[]"
      },
      {
        "name": "prices",
        "type": "uint256[]"
      },
      {
        "name": "timestamps",
        "type": "uint256[]"
      },
      {
        "name": "isStale",
        "type": "bool[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getOracleConfig",
    "outputs": [
      {
        "name": "requiredSigners",
        "type": "uint256"
      },
      {
        "name": "toleranceBps",
        "type": "uint256"
      },
      {
        "name": "oracleCount",
        "type": "uint256"
      },
      {
        "name": "maxOracles",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getOracles",
    "outputs": [
      {
        "name": "",
        "type": "address[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_oracle",
        "type": "address"
      }
    ],
    "name": "getSubmission",
    "outputs": [
      {
        "name": "price",
        "type": "uint256"
      },
      {
        "name": "timestamp",
        "type": "uint256"
      },
      {
        "name": "exists",
        "type": "bool"
      },
      {
        "name": "isStale",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      }
    ],
    "name": "getSubmitterCount",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_oracle",
        "type": "address"
      }
    ],
    "name": "isAuthorisedOracle",
    "outputs": [
      {
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_oracle",
        "type": "address"
      }
    ],
    "name": "removeOracle",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_required",
        "type": "uint256"
      }
    ],
    "name": "setRequiredSigners",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_bps",
        "type": "uint256"
      }
    ],
    "name": "setToleranceBps",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_eventId",
        "type": "uint256"
      },
      {
        "name": "_price",
        "type": "uint256"
      }
    ],
    "name": "submitRate",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "currentOwner",
        "type": "address"
      },
      {
        "indexed": true,
        "name": "pendingOwner",
        "type": "address"
      }
    ],
    "name": "OwnershipTransferStarted",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "previousOwner",
        "type": "address"
      },
      {
        "indexed": true,
        "name": "newOwner",
        "type": "address"
      }
    ],
    "name": "OwnershipTransferred",
    "type": "event"
  },
  {
    "inputs": [],
    "name": "acceptOwnership",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "owner",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "pendingOwner",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_newOwner",
        "type": "address"
      }
    ],
    "name": "transferOwnership",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "components": [
          {
            "name": "facetAddress",
            "type": "address"
          },
          {
            "name": "action",
            "type": "uint8"
          },
          {
            "name": "functionSelectors",
            "type": "bytes4[]"
          }
        ],
        "indexed": false,
        "name": "_diamondCut",
        "type": "tuple[]"
      },
      {
        "indexed": false,
        "name": "_init",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "_calldata",
        "type": "bytes"
      }
    ],
    "name": "DiamondCut",
    "type": "event"
  },
  {
    "inputs": [
      {
        "components": [
          {
            "name": "facetAddress",
            "type": "address"
          },
          {
            "name": "action",
            "type": "uint8"
          },
          {
            "name": "functionSelectors",
            "type": "bytes4[]"
          }
        ],
        "name": "_diamondCut",
        "type": "tuple[]"
      },
      {
        "name": "_init",
        "type": "address"
      },
      {
        "name": "_calldata",
        "type": "bytes"
      }
    ],
    "name": "diamondCut",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "proposalId",
        "type": "bytes32"
      }
    ],
    "name": "CutCancelled",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "proposalId",
        "type": "bytes32"
      }
    ],
    "name": "CutExecuted",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "proposalId",
        "type": "bytes32"
      },
      {
        "indexed": false,
        "name": "eta",
        "type": "uint256"
      }
    ],
    "name": "CutProposed",
    "type": "event"
  },
  {
    "inputs": [],
    "name": "MAX_PROPOSAL_AGE",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "pure",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "TIMELOCK_DELAY",
    "outputs": [
      {
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "pure",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_proposalId",
        "type": "bytes32"
      }
    ],
    "name": "cancelCut",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_proposalId",
        "type": "bytes32"
      }
    ],
    "name": "executeCut",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getAllCutIds",
    "outputs": [
      {
        "name": "",
        "type": "bytes32[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "getPendingCutIds",
    "outputs": [
      {
        "name": "",
        "type": "bytes32[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_proposalId",
        "type": "bytes32"
      }
    ],
    "name": "getPendingCutInfo",
    "outputs": [
      {
        "name": "eta",
        "type": "uint256"
      },
      {
        "name": "executed",
        "type": "bool"
      },
      {
        "name": "cancelled",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_proposalId",
        "type": "bytes32"
      }
    ],
    "name": "getProposal",
    "outputs": [
      {
        "name": "status",
        "type": "uint8"
      },
      {
        "name": "executeAfter",
        "type": "uint256"
      },
      {
        "name": "initAddress",
        "type": "address"
      },
      {
        "name": "initCalldata",
        "type": "bytes"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_functionSelector",
        "type": "bytes4"
      }
    ],
    "name": "facetAddress",
    "outputs": [
      {
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "facetAddresses",
    "outputs": [
      {
        "name": "",
        "type": "address[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "name": "_facet",
        "type": "address"
      }
    ],
    "name": "facetFunctionSelectors",
    "outputs": [
      {
        "name": "",
        "type": "bytes4[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "facets",
    "outputs": [
      {
        "components": [
          {
            "name": "facetAddress",
            "type": "address"
          },
          {
            "name": "functionSelectors",
            "type": "bytes4[]"
          }
        ],
        "name": "",
        "type": "tuple[]"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  }
] as const

export const deployedLogsAbi = [
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "creator",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "underlying",
        "type": "string"
      },
      {
        "indexed": false,
        "name": "strike",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "premiumRate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "expiryDate",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "initialLiquidity",
        "type": "uint256"
      }
    ],
    "name": "HedgeEventCreated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "depositId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "lp",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "amount",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "shares",
        "type": "uint256"
      }
    ],
    "name": "LiquidityDeposited",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "name": "eventId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "positionId",
        "type": "uint256"
      },
      {
        "indexed": true,
        "name": "hedger",
        "type": "address"
      },
      {
        "indexed": false,
        "name": "notional",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "premiumPaid",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "platformFee",
        "type": "uint256"
      },
      {
        "indexed": false,
        "name": "totalCost",
        "type": "uint256"
      }
    ],
    "name": "ProtectionPurchased",
    "type": "event"
  }
] as const

