// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The owner's functions and the oracle admin's settlement.
interface IHedgeAdmin {
    event EventSettled(uint256 indexed eventId, uint256 settlementPrice, bool triggered);
    event FeesInitialized(
        uint256 eventCreationFee,
        uint256 hedgerFeeRate,
        uint256 hedgerPayoutFeeRate,
        uint256 lpProfitFeeRate,
        uint256 creatorLoyaltyRate
    );
    event PlatformFeesWithdrawn(address indexed admin, uint256 amount);
    event PlatformFeesByTokenWithdrawn(address indexed token, address indexed admin, uint256 amount);
    event OracleAdminSet(address indexed admin);
    event OracleV2Activated();
    event PricingEngineSignerSet(address indexed previousSigner, address indexed newSigner);
    event Paused(address indexed by);
    event Unpaused(address indexed by);
    event ETHRescued(address indexed to, uint256 amount);
    event ERC20Rescued(address indexed token, address indexed to, uint256 amount);
    event PaymentTokenSet(address indexed token, bool allowed);
    event ExpiredPayoutsRecovered(uint256 indexed eventId, uint256 amount);

    /// @notice Sets the fees of future events: a flat creation fee in raw units of the event's payment token, and four
    /// 1e6 rates (three up to 10 %, loyalty up to 50 %). The fee is at most 1,000 whole tokens: of the default token
    /// here, and of the event's token when it is created.
    function initializeHedgeFees(
        uint256 _eventCreationFee,
        uint256 _hedgerFeeRate,
        uint256 _hedgerPayoutFeeRate,
        uint256 _lpProfitFeeRate,
        uint256 _creatorLoyaltyRate
    ) external;

    /// @notice Settles an expired event. Only for the oracle admin or the owner, until consensus settlement is
    /// activated.
    function settleEvent(uint256 _eventId, uint256 _settlementPrice) external;

    /// @notice Stops new events, deposits, purchases and pool settings; claims and withdrawals still work.
    function pause() external;

    /// @notice Ends a pause.
    function unpause() external;

    /// @notice Ends settlement by the oracle admin permanently.
    function activateOracleV2() external;

    /// @notice Sets the oracle admin, who may settle in addition to the owner; zero sets none.
    function setOracleAdmin(address _admin) external;

    /// @notice Sets the signer whose quotes are accepted; zero accepts none.
    function setPricingEngineSigner(address _signer) external;

    /// @notice Pays collected fees in the default token to the caller.
    function withdrawPlatformFees(uint256 _amount) external;

    /// @notice Pays collected fees in `_token` to the caller.
    function withdrawPlatformFeesByToken(address _token, uint256 _amount) external;

    /// @notice Sends coins that were forced onto the proxy.
    function rescueETH(address payable _to) external;

    /// @notice Sends a token that is not, and never was, a payment token.
    function rescueERC20(address _token, address _to) external;

    /// @notice Lists or delists a payment token for future events. A listed token must return its decimals, at most 36.
    function setAllowedPaymentToken(address _token, bool _allowed) external;

    /// @notice Turns payouts that were not claimed within 90 days of settlement into platform fees.
    function recoverExpiredPayouts(uint256 _eventId) external;
}
