// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Fee rates (1e6) at the creation of an event.
struct FeeRates {
    uint32 hedger;
    uint32 payout;
    uint32 lpProfit;
    uint32 creatorLoyalty;
}

struct HedgeEvent {
    address creator;
    bool poolOpen;
    bool allowExternalLp;
    bool strikeAbove;
    bool triggered;
    bool recovered;
    address paymentToken;
    address quoteSigner;
    uint256 strike;
    uint256 payoutCap;
    uint256 premiumRate;
    uint256 expiryDate;
    uint256 initialRate;
    uint256 settlementPrice;
    uint256 settledAt;
    uint256 creatorEarnings;
    uint256 totalLiquidity;
    uint256 totalShares;
    uint256 totalExposure;
    uint256 totalPremiums;
    /// Worst-case payouts while open; once settled, the sum of claimed and claimable payouts.
    uint256 totalMaxPayout;
    uint256 payoutsClaimed;
    /// Premium per share, scaled 1e18, and the remainder of the last division.
    uint256 premiumPerShare;
    uint256 premiumRemainder;
    FeeRates rates;
    string name;
    string underlying;
    uint256[] positionIds;
    uint256[] depositIds;
}

struct Position {
    uint256 eventId;
    address hedger;
    bool claimed;
    uint256 notional;
    uint256 premiumPaid;
    uint256 platformFeePaid;
}

struct Deposit {
    uint256 eventId;
    address lp;
    bool withdrawn;
    uint256 amount;
    uint256 shares;
    uint256 premiumsClaimed;
    /// `premiumPerShare` of the event at the time of the deposit, which earns only from later purchases.
    uint256 entryPerShare;
}

struct Submission {
    uint256 price;
    uint256 timestamp;
    /// The oracle's term at the time.
    uint256 term;
}

struct Protocol {
    uint256 locked;
    bool paused;
    bool feesInitialized;
    bool oracleV2;
    address oracleAdmin;
    address pricingEngineSigner;
    address defaultToken;
    uint256 creationFee;
    FeeRates rates;
    uint256 eventCount;
    uint256 positionCount;
    uint256 depositCount;
    uint256 requiredSigners;
    uint256 toleranceBps;
    address[] oracles;
    mapping(address => bool) isOracle;
    mapping(address => bool) allowedToken;
    /// Stays set when a token is delisted: events still hold it.
    mapping(address => bool) everAllowed;
    mapping(address => uint256) platformFees;
    uint256 platformFeesTotal;
    mapping(bytes32 => bool) nonceUsed;
    mapping(uint256 => HedgeEvent) events;
    mapping(uint256 => Position) positions;
    mapping(uint256 => Deposit) deposits;
    mapping(address => uint256[]) creatorEventIds;
    mapping(address => uint256[]) hedgerPositionIds;
    mapping(address => uint256[]) lpDepositIds;
    mapping(uint256 => address[]) submitters;
    mapping(uint256 => mapping(address => Submission)) submissions;
    /// Number of times that an oracle was removed. Its submissions from an earlier term no longer count.
    mapping(address => uint256) oracleTerm;
}

library LibStorage {
    bytes32 private constant SLOT = keccak256("fx.protection.protocol.storage");

    function protocol() internal pure returns (Protocol storage p) {
        bytes32 slot = SLOT;
        assembly {
            p.slot := slot
        }
    }
}
