"""The ten scenarios of SimpleToM, everyday reasons for missing the key information, as named in its data."""

SCENARIOS = frozenset(
    (
        "food_item_in_grocery_store",
        "provider_info_healthcare",
        "true_property_pretentious_labels",
        "behind_the_scene_service_industry",
        "inside_reuse_labeled_containers",
        "unobserved_unethical_actions",
        "inside_containers_for_personal_belongings",
        "seller_info_in_second_hand_market",
        "hidden_body_part_feature",
        "locked_devices_accounts",
    )
)
